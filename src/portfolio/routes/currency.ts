import * as v from 'valibot'
import type { Moment } from '../../family/moment.ts'
import { addCurrencyFields, getMarket, presentRate } from '../../finance/currency/convert.ts'
import type { ExchangeRate, RateReader } from '../../finance/currency/rate.ts'
import type { MidnightRates } from '../../finance/currency/rates_at_midnights.ts'
import { CURRENCIES, type Currency } from '../../finance/currency/table.ts'
import { documented } from '../../http/request/input.ts'
import type { Reply } from '../../http/route/route.ts'
import type { Work } from '../../lib/async/work.ts'
import { formatExact } from '../../lib/number/decimal.ts'
import type { WalletAssets } from '../read/read_wallet.ts'
import type { AssetsRead } from '../sum/row.ts'

/** Parameter of routes that tell dollars in a currency too. */
export const currencyParameter = createCurrencyParameter(
  'Adds to every field of US dollars the same in this currency, `value_eur` to `value_usd`, and the rate as `fx`: ' +
    "that of a feed of the answer's only chain, else of Ethereum's last block that is not later. Ratios and texts stay.",
)

/** The same parameter of daily snapshots. */
export const midnightCurrencyParameter = createCurrencyParameter(
  'Adds to every field of US dollars the same in this currency, `debt_eur` to `debt_usd`, by the rate of the midnight, ' +
    '`fx_rate`: that of a feed of the chain at its block, else of Ethereum at the block of the same midnight.',
)

function createCurrencyParameter(description: string) {
  return {
    currency: v.optional(
      v.pipe(
        v.picklist(CURRENCIES, `expected one of ${CURRENCIES.join(', ')}`),
        documented({ type: 'string', enum: [...CURRENCIES], description, examples: ['EUR'] }),
      ),
    ),
  }
}

type RatedRead = Pick<AssetsRead, 'block' | 'exits'>

/**
 * Reads the rate that a request asks for at the blocks of its answer; undefined without one, and where nothing was read,
 * which has no block and no figures. Throws as `RateReader.read`.
 */
export async function readRate(
  rates: () => RateReader,
  query: Moment & { readonly currency?: Currency | undefined },
  { reads, unread }: { readonly reads: readonly RatedRead[]; readonly unread: WalletAssets['unread'] },
  work: Work,
): Promise<ExchangeRate | undefined> {
  if (query.currency === undefined || reads.length === 0) return undefined
  const answer = {
    reads: reads.map(({ block: { chainId: id }, exits }) => ({
      chainId: id,
      ...(exits && { block: exits.past ?? exits.block }),
    })),
    unread: unread.map((each) => each.chainId),
    // A list that goes on has the heartbeats with which it began.
    isDated: query.at_block !== undefined || query.at_time !== undefined,
  }
  return await rates().read(query.currency, answer, work)
}

/** Adds to snapshots what their figures are in the currency of rates, one of each, and these; without rates as they are. */
export function addMidnightRates(snapshots: readonly object[], midnightRates: MidnightRates | undefined): unknown {
  if (midnightRates === undefined) return snapshots
  const { currency, rates } = midnightRates
  return snapshots.map((snapshot, index) => {
    const rate = rates[index]
    const fxRate = rate === undefined ? null : formatExact(rate.units, rate.scale)
    return { ...(addCurrencyFields(snapshot, { currency, rate }) as object), fx_rate: fxRate }
  })
}

/** Presents by which feed snapshots were converted. */
export function presentMidnightRates({ currency, chainId }: MidnightRates) {
  return { currency, market: getMarket(currency), chain_id: chainId }
}

/** Adds to a reply what its figures are in the currency of a rate; returns it as it is without one. */
export function addCurrency(reply: Reply, rate: ExchangeRate | undefined): Reply {
  return rate === undefined
    ? reply
    : { ...reply, data: addCurrencyFields(reply.data, { currency: rate.currency, rate }), fx: presentRate(rate) }
}
