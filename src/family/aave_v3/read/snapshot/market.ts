import type { Address } from 'viem'
import type { PinnedBlock } from '../../../../chain/block.ts'
import { DisputeError, QUORUM } from '../../../../chain/past/quorum.ts'
import { EMPTY_SNAPSHOT } from '../../../../finance/lending/present.ts'
import type { SnapshotFigures, SnapshotMarket } from '../../../../finance/lending/series/market.ts'
import type { Midnight } from '../../../../finance/series/target.ts'
import { toSnapshotFigures } from '../../present/present.ts'
import type { ChainRead } from '../position.ts'
import type { AaveV3Target, LendingReader } from '../read.ts'
import { findAccountContradiction } from './contradiction.ts'

/** 2022-01-01: no market of Aave V3 is older. */
const FIRST_DAY_MIN = 18_993
/** So many wallets fit into one call. */
const WALLETS_MAX = 250

/** The only market of a place, for its daily snapshots. */
export function snapshotMarket(reader: LendingReader, place: AaveV3Target): SnapshotMarket {
  const {
    client,
    deployments: [deployment],
  } = place
  if (deployment === undefined) throw new Error('Cannot take snapshots at a place without a market')
  const at = (block: PinnedBlock): AaveV3Target => ({ ...place, block, priority: 'background' })
  return {
    client,
    chainId: client.chain.id,
    name: deployment.poolAddressesProvider,
    firstDayMin: FIRST_DAY_MIN,
    walletsMax: WALLETS_MAX,
    async figuresAt({ day, block }, wallets, signal) {
      const figures = (found: ChainRead) => wallets.map((wallet) => figuresIn(found, wallet))
      const textOf = (found: ChainRead) => JSON.stringify(figures(found).map((each) => each ?? null))
      const { value, endpoints } = await reader.readAgreed(wallets, { place: at(block), textOf, signal })
      if (endpoints.length < QUORUM) checkAlone(value, { place, day })
      return { value: figures(value), endpoints }
    },
    movedBy: (block, wallets, signal) => reader.touched(wallets, block === undefined ? place : at(block), signal),
  }
}

/** Throws `DisputeError` if what one endpoint alone says of a wallet cannot be so. */
function checkAlone(
  { wallets }: ChainRead,
  { place: { client }, day }: { readonly place: AaveV3Target } & Pick<Midnight, 'day'>,
): void {
  const { id, name } = client.chain
  for (const { wallet, positions } of wallets) {
    const because = positions.map(findAccountContradiction).find((each) => each !== undefined)
    if (because === undefined) continue
    throw new DisputeError(
      `Cannot believe what wallet ${wallet} had at the midnight of day ${day} on chain ${id} (${name}): ${because} ` +
        '(own sums)',
    )
  }
}

/** Zeros for a wallet that has nothing, undefined if the market could not be valued. */
function figuresIn({ wallets, unanswerable }: ChainRead, wallet: Address): SnapshotFigures | undefined {
  if (unanswerable.some((each) => each.wallet === wallet)) return undefined
  const position = wallets.find((each) => each.wallet === wallet)?.positions[0]
  return position === undefined ? EMPTY_SNAPSHOT : toSnapshotFigures(position)
}
