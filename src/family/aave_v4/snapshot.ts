import type { PinnedBlock } from '../../chain/block.ts'
import { EMPTY_SNAPSHOT } from '../lending/present.ts'
import type { SnapshotFigures, SnapshotMarket } from '../lending/series.ts'
import { toSnapshotFigures } from './present/present.ts'
import type { ChainRead } from './read/position.ts'
import type { AaveV4Target, SpokeReader } from './read/read.ts'

/** 2026-03-01: no spoke of Aave V4 is older. */
const FIRST_DAY_MIN = 20_513
/** Maximum number of wallets in one reading: a few pages. */
const WALLETS_MAX = 100

/** The only spoke of a target, for its daily snapshots. */
export function snapshotSpoke(reader: SpokeReader, target: AaveV4Target): SnapshotMarket {
  const { client } = target
  const [spoke] = target.deployments
  if (spoke === undefined) throw new Error('Cannot take snapshots: the target has no spoke')
  const atBlock = (block: PinnedBlock): AaveV4Target => ({ ...target, block, priority: 'background' })
  return {
    client,
    chainId: client.chain.id,
    name: spoke.address,
    firstDayMin: FIRST_DAY_MIN,
    walletsMax: WALLETS_MAX,
    async readFigures({ block }, wallets, work) {
      const toFigures = ({ unanswerable, wallets: read }: ChainRead) =>
        wallets.map((wallet): SnapshotFigures | undefined => {
          if (unanswerable.some((each) => each.wallet === wallet)) return undefined
          const position = read.find((each) => each.wallet === wallet)?.positions[0]
          return position === undefined ? EMPTY_SNAPSHOT : toSnapshotFigures(position)
        })
      const toText = (read: ChainRead) => JSON.stringify(toFigures(read).map((each) => each ?? null))
      const { value, endpoints } = await reader.readAgreed(wallets, { target: atBlock(block), toText, work })
      return { value: toFigures(value), endpoints }
    },
    readMovements: (block, wallets, work) =>
      reader.readTraces(wallets, block === undefined ? target : atBlock(block), work),
  }
}
