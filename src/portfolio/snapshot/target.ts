import { hash } from 'node:crypto'
import type { Address, Hex } from 'viem'
import type { FinanceClient } from '../../finance/chain.ts'
import { formatUsdE6 } from '../../finance/figure.ts'
import type { PortfolioFigures, PortfolioTarget } from '../../finance/series/portfolio.ts'
import { memoize } from '../../lib/memoize.ts'
import type { AssetReader, ChainAssets } from '../read/read_chain.ts'
import { classifyAssets } from '../sum/classify.ts'
import { computeBalance } from '../sum/total.ts'

/** Hexadecimal digits of a name: as long as the address of a contract. */
const NAME_DIGITS = 40

/** What is asked of a chain at each midnight. */
export interface MidnightQuery {
  readonly client: FinanceClient
  /** Families whose holdings are read there. */
  readonly families: readonly string[]
  /** Tokens that the caller names, checksummed. */
  readonly tokens: readonly Address[]
  readonly includeUnlisted: boolean
}

/**
 * A chain with all that is asked there, for daily snapshots. Further midnights are taken for what everybody asks: the
 * lists alone.
 */
export function createSnapshotTarget(reader: AssetReader, asked: MidnightQuery): PortfolioTarget {
  const { client, tokens, includeUnlisted } = asked
  const figuresOf = memoize(({ assets }: ChainAssets) => figuresIn(assets, includeUnlisted))
  return {
    client,
    chainId: client.chain.id,
    name: nameOf(asked),
    // Readings have nothing in common, and one wallet may have more than can be summed.
    walletsMax: 1,
    isFollowed: tokens.length === 0 && !includeUnlisted,
    async figuresAt({ block }, wallets, signal) {
      const textOf = (found: ChainAssets) => JSON.stringify(figuresOf(found))
      const agreed = await Promise.all(
        wallets.map((wallet) => reader.readAgreed({ client, wallet, tokens, block }, { textOf, signal })),
      )
      const said = agreed.map(({ endpoints }) => endpoints)
      const least = said.reduce((least, each) => (each.length < least.length ? each : least), said[0] ?? [])
      return { value: agreed.map(({ value }) => figuresOf(value)), endpoints: least }
    },
  }
}

function figuresIn(assets: ChainAssets['assets'], includeUnlisted: boolean): PortfolioFigures {
  const rows = classifyAssets(assets, { includeUnlisted })
  const { netE6, assetsE6, debtE6, kindsE6, rows: counts } = computeBalance(rows)
  return {
    netWorthUsd: formatUsdE6(netE6),
    assetsUsd: formatUsdE6(assetsE6),
    debtUsd: formatUsdE6(debtE6),
    walletUsd: formatUsdE6(kindsE6.wallet),
    liquidityUsd: formatUsdE6(kindsE6.liquidity),
    suppliedUsd: formatUsdE6(kindsE6.supplied),
    unpriced: counts.unpriced,
    rows: rows.length,
  }
}

/** The hash of what figures depend on beside the chain itself: with other tokens or families they are read anew. */
function nameOf({ client, families, tokens, includeUnlisted }: MidnightQuery): Hex {
  const further = [...new Set(tokens)].sort().join()
  const text = [hashOf(client.chain.tokens.addresses), further, includeUnlisted, families.join()].join(';')
  return `0x${hash('sha256', text).slice(0, NAME_DIGITS)}`
}

const hashOf = memoize((addresses: readonly Address[]) => hash('sha256', addresses.toSorted().join()))
