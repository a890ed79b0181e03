import * as v from 'valibot'
import { TO_DO_KINDS } from '../../family/outlook.ts'
import { base58Address, chainId, evmAddress, incompleteList, usdFigure } from '../../finance/figure.ts'
import { named, withWords } from '../../lib/text/text_format.ts'
import { fxField } from '../schema.ts'

const usdOrNull = v.nullable(usdFigure)
const address = v.union([evmAddress, base58Address])
const code = withWords(
  'The protocol, forks apart: `pancakeswap_v3`; `wallet` is what is in the wallet itself',
  v.string(),
)
const netUsd = v.pipe(usdOrNull, v.description('Assets less debts there; null if a debt has no price'))

/** Success body of the overview, without `request_id`. */
export const overviewOutput = v.strictObject({
  data: v.strictObject({
    wallets: withWords('The wallets that were asked about', v.array(address)),
    complete: withWords(
      'True if the net worth lacks nothing: each chain was read, and everything has a price',
      v.boolean(),
    ),
    unread: withWords(
      'What the figures lack. No zero stands for it',
      v.array(
        named(
          'UnreadPart',
          'Something that could not be read',
          v.strictObject({
            chain_id: chainId,
            what: withWords('`chain` for all of it, the name of a figure that is null, or words', v.string()),
            why: withWords('The reason in a sentence', v.string()),
          }),
        ),
      ),
    ),
    worth: named(
      'OverviewWorth',
      'What all wallets together are worth; null where nothing was read',
      v.strictObject({
        net_worth_usd: withWords('assets_usd less debt_usd; null if a debt has no price', usdOrNull),
        assets_usd: withWords('Everything counted but debts', usdOrNull),
        debt_usd: withWords('All debts that have a price; not negative', usdOrNull),
        change_24h_usd: withWords(
          'Net worth less that of the UTC midnight nearest to 24 hours ago; null if unread says why',
          usdOrNull,
        ),
        change_30d_usd: withWords('The same of the midnight nearest to 30 days ago', usdOrNull),
      }),
    ),
    earnings: named(
      'OverviewEarnings',
      'What they earn; null where nothing was read',
      v.strictObject({
        per_day_usd: withWords(
          'Interest of one day at the rates of the block, less what debts cost; negative if they cost more',
          usdOrNull,
        ),
        to_collect_usd: withWords(
          'Fees, what was withdrawn and not collected, and rewards, of closed positions too',
          usdOrNull,
        ),
        incomplete: incompleteList('What these two lack'),
      }),
    ),
    by_protocol: withWords(
      'Net worth by protocol and chain',
      v.array(
        named(
          'ProtocolWorth',
          'What the wallets have in a protocol on a chain',
          v.strictObject({ code, chain_id: chainId, net_usd: netUsd }),
        ),
      ),
    ),
    by_chain: withWords(
      'Net worth by chain; chains that could not be read are not in it',
      v.array(
        named('ChainWorth', 'What the wallets have on a chain', v.strictObject({ chain_id: chainId, net_usd: netUsd })),
      ),
    ),
    to_do: withWords(
      'What the owner may have to see to, the most urgent first, then by what is at stake; at most 100',
      v.array(
        named(
          'ToDo',
          'Something at a position that its owner may have to see to',
          v.strictObject({
            kind: withWords(
              'liquidatable now; near_liquidation: a health factor below 1.25; due within 7 days; out_of_range; uncollected: ' +
                'withdrawn or credited, and not collected; blocked: nothing can be withdrawn; unreadable',
              v.picklist(TO_DO_KINDS),
            ),
            wallet: withWords('Whose it is', address),
            code,
            chain_id: chainId,
            subject: withWords(
              'What names the position, as `position` of its rows in /v1/portfolio/assets does',
              v.record(v.string(), v.string()),
            ),
            usd: withWords('What is at stake, of a loan the debt; null without a price', usdOrNull),
            text: withWords('The same in a sentence', v.string()),
          }),
        ),
      ),
    ),
  }),
  ...fxField,
})
