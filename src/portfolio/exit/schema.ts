import * as v from 'valibot'
import { evmAddress, usdFigure } from '../../finance/figure.ts'
import { withWords } from '../../lib/text/text_format.ts'
import { amount, amountFields, rowPosition, token } from '../schema.ts'
import { ROW_KINDS } from '../sum/row.ts'
import { EXIT_REASONS } from './attribute.ts'
import { EXECUTIONS } from './read.ts'

const valued = v.strictObject({
  ...amountFields,
  usd: v.pipe(v.nullable(usdFigure), v.description('What counts of it, negative for a debt; null if nothing does')),
})

/** Success body of an exit, without `request_id`. */
export const exitOutput = v.strictObject({
  data: v.strictObject({
    book_usd: v.pipe(
      v.nullable(usdFigure),
      v.description('net_worth_usd of the wallet on the chain, as the balance has it'),
    ),
    arrives_usd: v.pipe(
      v.nullable(usdFigure),
      v.description('What arrives of all rows together, less what is repaid; null if a repaid debt has no price'),
    ),
    blocked_usd: v.pipe(
      v.nullable(usdFigure),
      v.description('What the book counts and does not arrive: book_usd − arrives_usd + walked_away_usd'),
    ),
    walked_away_usd: v.pipe(
      usdFigure,
      v.description(
        'What accounts lack that owe more than they own: they are left behind, and nothing of them arrives',
      ),
    ),
    outside: v.pipe(
      v.array(
        v.strictObject({
          token,
          amount,
          from: v.pipe(
            v.nullable(evmAddress),
            v.description('The contract whose tokens were lent for the call; null if they were made up for it'),
          ),
        }),
      ),
      v.description('Money from elsewhere that repaid the debts, and is subtracted; empty if nothing was repaid'),
    ),
    rows: withWords(
      'Every row of the book on the chain',
      v.array(
        v.strictObject({
          kind: withWords('Native token, other token, liquidity, supply or debt', v.picklist(ROW_KINDS)),
          token,
          position: rowPosition,
          book: v.pipe(valued, v.description('The row of `/v1/portfolio/assets` at the block')),
          arrives: v.pipe(
            v.nullable(valued),
            v.description('What arrives of it, of a debt what is repaid; null if nothing does'),
          ),
          blocked_by: v.pipe(
            v.nullable(v.picklist(EXIT_REASONS)),
            v.description(
              'Why not all of it arrives: paused, no_liquidity (its market does not have so much), hook_forbids, ' +
                'token_refuses, insolvent (its account owes more than it owns), unfunded (no contract lends what its debt ' +
                'needs), too_costly (of gas or time), unsupported (not executed, or a refusal that is not known); null if all does',
            ),
          ),
          detail: v.pipe(v.nullable(v.string()), v.description('The reason in a sentence')),
        }),
      ),
    ),
    executed_as: v.pipe(
      v.nullable(v.picklist(EXECUTIONS)),
      v.description(
        'How it was executed: own_code as the wallet, which has no code; simulated by eth_simulateV1, with the code that ' +
          'the wallet has; replaced_code in place of the wallet’s own code, which might do otherwise; protocol_multicall by the ' +
          'protocols’ own contracts, whose answers are believed (Uniswap V3 and its forks alone); null if nothing was ' +
          'executed',
      ),
    ),
    complete: v.pipe(
      v.boolean(),
      v.description('True if each row was tried or has a reason of its own, and no code of the wallet’s was replaced'),
    ),
  }),
})
