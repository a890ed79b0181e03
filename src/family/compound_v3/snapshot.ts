import { hash } from 'node:crypto'
import type { Address, Hex } from 'viem'
import type { PinnedBlock } from '../../chain/block.ts'
import type { FinanceChain } from '../../finance/chain.ts'
import { toDatedClient } from '../../finance/price/past/dated_client.ts'
import { FEED_RULE_REVISION } from '../../finance/price/price.ts'
import { EMPTY_SNAPSHOT } from '../lending/present.ts'
import type { SnapshotFigures, SnapshotMarket } from '../lending/series.ts'
import { toSnapshotFigures } from './present/present.ts'
import type { ChainRead } from './read/position.ts'
import type { CometReader, CompoundV3Target } from './read/read.ts'
import type { CompoundV3Market } from './table.ts'

/** 2022-01-01: no market of Compound V3 is older. */
const FIRST_DAY_MIN = 18_993
/** Maximum number of wallets in one call. */
const WALLETS_MAX = 100
/** Rises with every change of the formulas, so that midnights that were stored by older ones are read again. */
const FIGURES_REVISION = 1
/** Hexadecimal digits of a series' name: as long as the address of a contract. */
const NAME_DIGITS = 40

/** The only market of a target, for its daily snapshots. */
export function snapshotMarket(reader: CometReader, target: CompoundV3Target): SnapshotMarket {
  const [market] = target.deployments
  if (market === undefined) throw new Error('Cannot take snapshots: the target has no market')
  const client = toDatedClient(target.client)
  const atBlock = (block: PinnedBlock): CompoundV3Target => ({ ...target, client, block, priority: 'background' })
  return {
    client,
    chainId: client.chain.id,
    name: createSeriesName(market, client.chain),
    firstDayMin: FIRST_DAY_MIN,
    walletsMax: WALLETS_MAX,
    async readFigures({ block }, wallets, work) {
      const toFigures = (read: ChainRead) => wallets.map((wallet) => findFigures(read, wallet))
      const toText = (read: ChainRead) => JSON.stringify(toFigures(read).map((each) => each ?? null))
      const { value, endpoints } = await reader.readAgreed(wallets, { target: atBlock(block), toText, work })
      return { value: toFigures(value), endpoints }
    },
    readMovements: (block, wallets, work) =>
      reader.readTraces(wallets, block === undefined ? target : atBlock(block), work),
  }
}

/** Hashes the inputs of figures: with other sources of prices, or another rule, midnights are read again. */
function createSeriesName({ comet }: CompoundV3Market, { prices }: FinanceChain): Hex {
  const text = [FIGURES_REVISION, comet, `feeds ${FEED_RULE_REVISION}`, JSON.stringify(prices)].join(';')
  return `0x${hash('sha256', text).slice(0, NAME_DIGITS)}`
}

/** Zeros for a wallet that has nothing, undefined if the position could not be valued. */
function findFigures({ wallets }: ChainRead, wallet: Address): SnapshotFigures | undefined {
  const position = wallets.find((each) => each.wallet === wallet)?.positions[0]
  return position === undefined ? EMPTY_SNAPSHOT : toSnapshotFigures(position)
}
