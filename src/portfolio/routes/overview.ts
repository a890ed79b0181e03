import * as v from 'valibot'
import { getEarliestExpiryMs, toAsOf } from '../../family/moment.ts'
import type { ExchangeRate, RateReader } from '../../finance/currency/rate.ts'
import { TARGET_LENGTH_MAX } from '../../http/limits.ts'
import { documented } from '../../http/request/input.ts'
import { defineRoute, type Route } from '../../http/route/route.ts'
import { groupBy } from '../../lib/group_by.ts'
import { type Overview, presentOverview } from '../overview/present.ts'
import type { OverviewReader, PastWorth, WalletChain } from '../overview/read.ts'
import { overviewOutput } from '../overview/schema.ts'
import { summarize } from '../overview/summarize.ts'
import { addCurrency, currencyParameter, readRate } from './currency.ts'
import { walletAddress } from './input.ts'

/** Most wallets of an overview. */
const WALLETS_MAX = 5
const EXPECTED_WALLETS = `expected 1 to ${WALLETS_MAX} addresses with commas between them`
/** Parts that what a wallet has on a chain counts as, beside its changes. */
const PARTS_OF_WORTH = 3

/** Schema of wallets; removes duplicates. */
const wallets = v.pipe(
  v.string(EXPECTED_WALLETS),
  v.transform((text) => text.split(',')),
  v.array(walletAddress, EXPECTED_WALLETS),
  v.transform((addresses) => [...new Set(addresses)]),
  v.maxLength(WALLETS_MAX, EXPECTED_WALLETS),
  v.metadata({ lengthMax: TARGET_LENGTH_MAX }),
  documented({
    type: 'string',
    description: `Up to ${WALLETS_MAX} EVM or Solana addresses or names of ENS, separated by commas.`,
    examples: ['0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045'],
  }),
)

/** Defines the route that answers the first question about wallets: what they are worth, earn, and have to see to. */
export function overviewRoute({
  overviews,
  rates,
}: {
  readonly overviews: () => OverviewReader
  readonly rates: () => RateReader
}): Route {
  return defineRoute({
    method: 'GET',
    path: '/v1/wallet/overview',
    operation: 'wallet_overview',
    tool: { name: 'wallet_overview', title: 'What wallets are worth and have to see to', isFirst: true },
    summary: 'What wallets are worth and earn, and what their owner may have to see to, on all chains.',
    description:
      'The same figures as `/v1/portfolio/balance`, over all wallets, each chain at one block: ask it first. A chain that ' +
      'cannot be read is left out and named in `unread`. Changes compare with midnights, which are read and kept the first ' +
      'time: until then they are null, and `unread` says so.',
    input: v.object({ wallet: wallets, ...currencyParameter }),
    output: overviewOutput,
    errors: [503],
    charge: {
      credits: 5,
      per: 'part read',
      terms: `${PARTS_OF_WORTH} for a wallet on a chain, 1 for its changes`,
    },
    async read({ wallet, currency }, { work }): Promise<Overview & { readonly rate: ExchangeRate | undefined }> {
      const read = await overviews().read(wallet, work)
      const rated = { reads: read.reads.map((each) => each.read), unread: read.unread }
      const rate = await readRate(rates, { currency }, rated, work)
      return { ...read, rate, summary: summarize(read.reads) }
    },
    count: ({ summary: { counted }, past }) =>
      counted.reduce((sum, place) => sum + PARTS_OF_WORTH + (hasChange(place, past) ? 1 : 0), 0),
    untilMs: ({ reads, unread, past }) =>
      unread.length === 0 && past.every(({ worths }) => typeof worths !== 'string')
        ? getEarliestExpiryMs(reads.map(({ read }) => read))
        : 0,
    present: ({ rate, ...overview }, { wallet }) =>
      addCurrency(
        {
          data: presentOverview(wallet, overview),
          asOf: toAsOf(listOldest(overview.reads)),
          unwitnessed: listUnwitnessed(overview.past),
        },
        rate,
      ),
  })
}

/** True if a past worth of a wallet on a chain was told. */
function hasChange(place: Pick<PastWorth, 'wallet' | 'chainId'>, past: readonly PastWorth[]): boolean {
  const found = past.find(({ wallet, chainId }) => wallet === place.wallet && chainId === place.chainId)
  return found !== undefined && typeof found.worths !== 'string' && found.worths.length > 0
}

/** Chains of which a past worth rests on one endpoint. */
function listUnwitnessed(past: readonly PastWorth[]): number[] {
  const isUnwitnessed = ({ worths }: PastWorth) =>
    typeof worths !== 'string' && worths.some((each) => each.isUnwitnessed)
  return [...new Set(past.filter(isUnwitnessed).map(({ chainId }) => chainId))]
}

/** The read of each chain that `X-As-Of` names: on Solana that of the lowest slot. */
function listOldest(reads: readonly WalletChain[]) {
  const byChain = groupBy(reads, ({ read }) => read.block.chainId)
  return [...byChain.values()].flatMap((chainReads) => {
    const [oldest] = chainReads.map(({ read }) => read).sort((a, b) => (a.block.number < b.block.number ? -1 : 1))
    return oldest ?? []
  })
}
