import { hash } from 'node:crypto'
import type { Address, Hex } from 'viem'
import { QUORUM } from '../chain/past/quorum.ts'
import type { ChainPrices, FinanceClient } from '../finance/chain.ts'
import type { MidnightRateReader } from '../finance/currency/rates_at_midnights.ts'
import type { Currency } from '../finance/currency/table.ts'
import { formatUsdE6 } from '../finance/figure.ts'
import { toDatedClient } from '../finance/price/past/dated_client.ts'
import { PRICE_RULE_REVISION } from '../finance/price/pool/pool_price.ts'
import { FEED_RULE_REVISION } from '../finance/price/price.ts'
import type { PortfolioFigures, PortfolioSnapshots, PortfolioTarget } from '../finance/series/portfolio.ts'
import type { Work } from '../lib/async/work.ts'
import { CodedError } from '../lib/error.ts'
import { memoize } from '../lib/memoize.ts'
import type { BorrowedPriceReader } from './read/borrowed_price.ts'
import type { AssetReader, ChainAssets } from './read/read_chain.ts'
import { classifyAssets } from './sum/classify.ts'
import { isUnpriced } from './sum/gap.ts'
import { computeTotal } from './sum/total.ts'

/** Most midnights of an answer, and their default number. */
export const SNAPSHOTS_MAX = 366
export const SNAPSHOTS_DEFAULT = 30

const DAY_SEC = 86_400

/** Which snapshots to return. */
export interface SnapshotQuery {
  readonly wallet: Address
  readonly chainId: number
  readonly tokens: readonly Address[]
  readonly includeUnlisted: boolean
  /** Number of latest midnights. */
  readonly days: number
  /** Currency of which the rate at each midnight is read too. */
  readonly currency?: Currency | undefined
}

/** The value of a wallet at a midnight. */
export interface DaySnapshot extends PortfolioFigures {
  /** The midnight, Unix seconds. */
  readonly timestampSec: number
  /** The last block at or before the midnight. */
  readonly blockNumber: bigint
}

/** What a wallet was worth at a midnight. */
export interface MidnightWorth extends Pick<PortfolioFigures, 'netWorthUsd'> {
  /** Days since the epoch. */
  readonly day: number
  /** True if one endpoint alone told it. */
  readonly isUnwitnessed: boolean
}

/** Reads daily snapshots of the value of wallets. */
export type SnapshotReader = ReturnType<typeof createSnapshotReader>

/** Creates a reader over the stored snapshots and the reader of new ones. */
export function createSnapshotReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly reader: AssetReader
  readonly borrowedPrices: Pick<BorrowedPriceReader, 'describe'>
  /** Lists what is read on a chain: the families by name, each with its deployments. */
  readonly listDeployments: (chainId: number) => readonly string[]
  readonly snapshots: PortfolioSnapshots
  readonly rates: MidnightRateReader
}) {
  const { clients, reader, borrowedPrices, listDeployments, snapshots, rates } = options

  function createTarget(
    client: FinanceClient,
    query: Pick<MidnightQuery, 'tokens' | 'includeUnlisted'>,
  ): PortfolioTarget {
    const { chain } = client
    const borrowedFeed = borrowedPrices.describe(chain)
    return createSnapshotTarget(reader, { ...query, client, borrowedFeed, families: listDeployments(chain.id) })
  }

  return {
    /**
     * Returns a snapshot for each midnight from the first one at which the wallet had anything, counted or not, oldest
     * first; whether one endpoint alone gave some of them; and the day of the first snapshot, days since the epoch, if
     * no endpoint has the state of earlier ones. With a currency its rates are those of the same midnights.
     * Throws like `SnapshotSeries.of`, `AssetReader.read` and `MidnightRateReader.read`.
     */
    async readSnapshots({ wallet, chainId, tokens, includeUnlisted, days, currency }: SnapshotQuery, work: Work) {
      const client = clients.get(chainId)
      if (client === undefined)
        throw new CodedError('INVALID_PARAMETER', `Cannot read chain ${chainId}: it is not served`)
      const target = createTarget(client, { tokens, includeUnlisted })
      const { snapshots: storedDays, cutAt, today } = await snapshots.series.read({ target, wallet, span: days }, work)
      const answeredDays = storedDays.flatMap(({ day, witnesses, figures }) =>
        figures === undefined ? [] : { day, witnesses, ...figures },
      )
      const firstDay = answeredDays.find(({ rows }) => rows > 0)
      const fromDay = Math.max(today - days + 1, firstDay?.day ?? today + 1)
      const shown = answeredDays.filter(({ day }) => day >= fromDay)
      const shownDays = shown.map(({ day }) => day)
      const blocks = await snapshots.readBlocks(target, shownDays, work)
      const readBlocks = (lender: FinanceClient) =>
        lender.chain.id === chainId
          ? Promise.resolve(blocks)
          : snapshots.readBlocks({ client: toDatedClient(lender) }, shownDays, work)
      return {
        ...(currency && { rates: await rates.read(currency, { chainId, readBlocks }, work) }),
        snapshots: shown.map(
          ({ day, witnesses, ...figures }, index): DaySnapshot => ({
            ...figures,
            timestampSec: day * DAY_SEC,
            blockNumber: blocks[index]?.number ?? 0n,
          }),
        ),
        isUnwitnessed: shown.some(({ witnesses }) => witnesses < QUORUM),
        cutAt: cutAt === undefined ? undefined : (shown[0]?.day ?? today),
      }
    },
    /**
     * Reads what a wallet was worth at midnights, days since the epoch: US dollars, null where it cannot be told, and no
     * entry where no endpoint has the state. Throws like `SnapshotSeries.read`.
     */
    async readWorths(
      { wallet, chainId, days }: Pick<SnapshotQuery, 'wallet' | 'chainId'> & { readonly days: readonly number[] },
      work: Work,
    ): Promise<readonly MidnightWorth[]> {
      const client = clients.get(chainId)
      if (client === undefined) return []
      const target = createTarget(client, { tokens: [], includeUnlisted: false })
      const { snapshots: storedDays } = await snapshots.series.read({ target, wallet, days }, work)
      return storedDays.flatMap(({ day, witnesses, figures }) =>
        figures === undefined || !days.includes(day)
          ? []
          : { day, netWorthUsd: figures.netWorthUsd, isUnwitnessed: witnesses < QUORUM },
      )
    },
    /** Takes the last midnight for all wallets with snapshots, like `takeDailySnapshots`. */
    takeDaily(work: Work): Promise<number> {
      const targets = [...clients.values()].map((client) =>
        createTarget(client, { tokens: [], includeUnlisted: false }),
      )
      return snapshots.takeDaily(targets, work)
    },
  }
}

/**
 * Rises with every change of what counts and of what is believed, so that midnights that were stored by an older rule
 * are read again.
 */
const COUNT_REVISION = 5

/** Hexadecimal digits of a target's name: as long as the address of a contract. */
const NAME_DIGITS = 40

/** What to read on a chain at each midnight. */
export interface MidnightQuery {
  readonly client: FinanceClient
  /** The feed of another chain that prices the native token; empty if none does. */
  readonly borrowedFeed: string
  /** Families whose holdings are read: names with their deployments. */
  readonly families: readonly string[]
  /** Tokens that the caller names, checksummed. */
  readonly tokens: readonly Address[]
  readonly includeUnlisted: boolean
}

/**
 * Creates the target of daily snapshots for a query on a chain. Only the default query (listed tokens alone) is
 * followed at later midnights.
 */
function createSnapshotTarget(reader: AssetReader, query: MidnightQuery): PortfolioTarget {
  const { tokens, includeUnlisted } = query
  const client = toDatedClient(query.client)
  const getFigures = memoize((assets: ChainAssets) => computeFigures(assets, includeUnlisted))
  return {
    client,
    chainId: client.chain.id,
    name: createSeriesName({ ...query, client }),
    // Reads of wallets share nothing.
    walletsMax: 1,
    isFollowed: tokens.length === 0 && !includeUnlisted,
    async readFigures({ block }, wallets, work) {
      const toText = (assets: ChainAssets) => JSON.stringify(getFigures(assets))
      const results = await Promise.all(
        wallets.map((wallet) => reader.readAgreed({ client, wallet, tokens, block }, { toText, work })),
      )
      const endpointSets = results.map(({ endpoints }) => endpoints)
      const fewestEndpoints = endpointSets.reduce(
        (least, each) => (each.length < least.length ? each : least),
        endpointSets[0] ?? [],
      )
      return { value: results.map(({ value }) => getFigures(value)), endpoints: fewestEndpoints }
    },
  }
}

function computeFigures(
  { assets, block, isUnsourced, omitted = [] }: ChainAssets,
  includeUnlisted: boolean,
): PortfolioFigures {
  const rows = classifyAssets(assets, { includeUnlisted })
  const unsourced = new Set(isUnsourced ? [block.chainId] : [])
  const { netE6, assetsE6, debtE6, kindsE6, gaps } = computeTotal(rows, { unsourced, omitted })
  return {
    netWorthUsd: netE6 === undefined ? null : formatUsdE6(netE6),
    assetsUsd: formatUsdE6(assetsE6),
    debtUsd: formatUsdE6(debtE6),
    walletUsd: formatUsdE6(kindsE6.wallet),
    liquidityUsd: formatUsdE6(kindsE6.liquidity),
    suppliedUsd: formatUsdE6(kindsE6.supplied),
    unpriced: rows.filter(isUnpriced).length,
    gaps,
    rows: rows.length,
  }
}

/**
 * Hashes the inputs of figures besides the chain: with other tokens or families, or another rule of prices by pools or by
 * feeds, figures are read again on every chain, whether or not its tables changed.
 */
export function createSeriesName(
  { client, borrowedFeed, families, tokens, includeUnlisted }: MidnightQuery,
  { poolRule = PRICE_RULE_REVISION, feedRule = FEED_RULE_REVISION } = {},
): Hex {
  const sortedTokens = [...new Set(tokens)].sort().join()
  const { chain } = client
  const text = [
    COUNT_REVISION,
    `pool prices ${poolRule}`,
    `feeds ${feedRule}`,
    hashAddresses(chain.tokens.addresses),
    hashAddresses(chain.spamTokens),
    hashPrices(chain.prices),
    ...(borrowedFeed === '' ? [] : [`borrowed ${borrowedFeed}`]),
    sortedTokens,
    includeUnlisted,
    families.join(),
  ].join(';')
  return `0x${hash('sha256', text).slice(0, NAME_DIGITS)}`
}

const hashPrices = memoize((prices: ChainPrices) => hash('sha256', JSON.stringify(prices)))
const hashAddresses = memoize((addresses: readonly Address[]) => hash('sha256', addresses.toSorted().join()))
