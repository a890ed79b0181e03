import * as v from 'valibot'
import { evmAddress, percentageFigure, usdFigure } from '../../finance/figure.ts'
import { withWords } from '../../lib/text/text_format.ts'
import { amount, amountFields, fxField, rowPosition, token } from '../schema.ts'
import { ROW_KINDS } from '../sum/row.ts'
import { EXIT_REASONS } from './attribute.ts'
import { EXECUTIONS } from './read.ts'
import { SALE_REASONS } from './sell.ts'

const valued = v.strictObject({
  ...amountFields,
  usd: v.pipe(v.nullable(usdFigure), v.description('What counts of it, negative for a debt; null if nothing does')),
})

const sale = v.strictObject({
  into: v.pipe(evmAddress, v.description('The token that what arrives is sold for')),
  brings: v.pipe(
    valued,
    v.description(
      'What there is of it in the end: what arrives in it and what selling brings, less what is owed in it',
    ),
  ),
  sold: v.pipe(
    v.array(
      v.strictObject({
        token,
        amount: withWords('What arrives of it, less what is owed in it', amount),
        brings: v.pipe(v.nullable(amount), v.description('Null if it is not sold')),
        pools: v.pipe(
          v.array(evmAddress),
          v.description(
            'The pools of Uniswap V3 that it is sold to, one after the other; none for the native token’s wrapper',
          ),
        ),
        price_impact_percentage: v.pipe(
          v.nullable(percentageFigure),
          v.description(
            'By how much it brings less than at the pools’ prices before anything was sold, their fees included',
          ),
        ),
        blocked_by: v.pipe(
          v.nullable(v.picklist(SALE_REASONS)),
          v.description(
            'Why it is not sold: no_pool (of it with the other token, or over a quote token of the chain), no_liquidity ' +
              '(its pools do not buy so much above a tenth of their price), too_little (it is worth less than a unit), or as for ' +
              'rows; null if all of it is',
          ),
        ),
        detail: v.pipe(v.nullable(v.string()), v.description('The reason in a sentence')),
      }),
    ),
    v.description('Tokens with a counted value, in the order in which they are sold'),
  ),
  owed: v.pipe(
    v.array(v.strictObject({ token, amount })),
    v.description('Money from elsewhere that is still owed in the end, in its own tokens'),
  ),
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
    own_money: v.pipe(
      v.nullable(
        v.strictObject({
          arrives_usd: v.pipe(
            v.nullable(usdFigure),
            v.description(
              'What arrives of all rows together, less what is repaid; null if it was not executed, or a repaid debt has no price',
            ),
          ),
          lacking: v.pipe(
            v.nullable(v.array(v.strictObject({ token, amount }))),
            v.description(
              'What the wallet must have besides, so that its own transactions bring what money from elsewhere does: with ' +
                'one unit less of any of it they do not; empty if nothing is lacking, null if that was not found',
            ),
          ),
          detail: v.pipe(
            v.nullable(v.string()),
            v.description('What is lacking, or why it is not known, in a sentence; null if nothing is'),
          ),
        }),
      ),
      v.description(
        'What the wallet does without money from elsewhere, in two rounds: what no debt holds is withdrawn first, then, ' +
          'account by account, each debt is repaid that the wallet can repay whole, and all is withdrawn, or what the debts ' +
          'left leave free. null if there is no debt to repay',
      ),
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
          arrives_by_own_money: v.optional(
            v.pipe(
              v.nullable(valued),
              v.description('The same without money from elsewhere; only where `own_money` was executed'),
            ),
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
    sale: v.optional(v.pipe(sale, v.description('With `sell_into` only'))),
  }),
  ...fxField,
})
