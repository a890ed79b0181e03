import type { Address } from 'viem'
import type { PinnedBlock } from '../../chain/block.ts'
import { QUORUM } from '../../chain/past/quorum.ts'
import { ChainUnavailableError } from '../../chain/rpc/client.ts'
import type { Midnight } from '../../finance/series/store.ts'
import { EMPTY_SNAPSHOT } from '../lending/present.ts'
import type { SnapshotFigures, SnapshotMarket } from '../lending/series.ts'
import { type Account, computeBorrows, computeSupplies } from './math/account.ts'
import { toSnapshotFigures } from './present/present.ts'
import type { ChainRead } from './read/position.ts'
import type { AaveV3Target, LendingReader } from './read/read.ts'

/** 2022-01-01: no market of Aave V3 is older. */
const FIRST_DAY_MIN = 18_993
/** Maximum number of wallets in one call. */
const WALLETS_MAX = 250

/** The only market of a target, for its daily snapshots. */
export function snapshotMarket(reader: LendingReader, target: AaveV3Target): SnapshotMarket {
  const {
    client,
    deployments: [deployment],
  } = target
  if (deployment === undefined) throw new Error('Cannot take snapshots: the target has no market')
  const atBlock = (block: PinnedBlock): AaveV3Target => ({ ...target, block, priority: 'background' })
  return {
    client,
    chainId: client.chain.id,
    name: deployment.poolAddressesProvider,
    firstDayMin: FIRST_DAY_MIN,
    walletsMax: WALLETS_MAX,
    async readFigures({ day, block }, wallets, work) {
      const toFigures = (read: ChainRead) => wallets.map((wallet) => findFigures(read, wallet))
      const toText = (read: ChainRead) => JSON.stringify(toFigures(read).map((each) => each ?? null))
      const { value, endpoints } = await reader.readAgreed(wallets, { target: atBlock(block), toText, work })
      if (endpoints.length < QUORUM) checkAlone(value, { target, day })
      return { value: toFigures(value), endpoints }
    },
    readMovements: (block, wallets, work) =>
      reader.readMovements(wallets, block === undefined ? target : atBlock(block), work),
  }
}

/** Checks an answer that only one endpoint gave. Throws `ChainUnavailableError` (disputed) if it contradicts itself. */
function checkAlone(
  { wallets }: ChainRead,
  { target: { client }, day }: { readonly target: AaveV3Target } & Pick<Midnight, 'day'>,
): void {
  const { id, name } = client.chain
  for (const { wallet, positions } of wallets) {
    const contradiction = positions.map(findAccountContradiction).find((each) => each !== undefined)
    if (contradiction === undefined) continue
    throw new ChainUnavailableError(
      'disputed',
      `Cannot trust the position of wallet ${wallet} at the midnight of day ${day} on chain ${id} (${name}): ${contradiction} ` +
        '(own sums)',
    )
  }
}

/** Zeros for a wallet that has nothing, undefined if the market could not be valued. */
function findFigures({ wallets, unanswerable }: ChainRead, wallet: Address): SnapshotFigures | undefined {
  if (unanswerable.some((each) => each.wallet === wallet)) return undefined
  const position = wallets.find((each) => each.wallet === wallet)?.positions[0]
  return position === undefined ? EMPTY_SNAPSHOT : toSnapshotFigures(position)
}

const BPS = 10_000n
const WAD = 10n ** 18n
/** Rounding of one asset's value, which differs by version of the contracts. */
const UNITS_PER_ASSET = 2n
/** Relative rounding of amounts and totals in the contracts: far below any forgery of consequence. */
const TOLERANCE = 1_000_000n

/**
 * Finds a contradiction between the pool's totals of an account and its holdings, in words; undefined if there is none.
 * Collateral is part of the supplies, the token balances of debt are part of the total debt, and the health factor
 * follows from the totals and the threshold, which the pool truncates to hundredths of a percent. Source: Aave V3
 * `GenericLogic.calculateUserAccountData`.
 */
function findAccountContradiction(account: Account): string | undefined {
  const { totalCollateral, totalDebt, healthFactorWad, liquidationThresholdBps } = account.data
  const room = UNITS_PER_ASSET * BigInt(account.assets.length)
  const supplied = sum(computeSupplies(account))
  const owed = sum(computeBorrows(account))
  if (totalCollateral > supplied + supplied / TOLERANCE + room) return 'its collateral is more than it supplies'
  if (owed > totalDebt + totalDebt / TOLERANCE + room) return 'its debts are more than their total'
  if (totalDebt === 0n) return undefined
  const computeFactor = (thresholdBps: bigint) => (totalCollateral * thresholdBps * WAD) / (BPS * totalDebt)
  // One unit of collateral more or less, for the rounding.
  const slack = (2n * WAD) / totalDebt + 1n
  const isBelow = healthFactorWad < computeFactor(liquidationThresholdBps) - slack
  if (isBelow || healthFactorWad > computeFactor(liquidationThresholdBps + 1n) + slack) {
    return 'its health factor does not follow from its collateral and debt'
  }
  return undefined
}

function sum(legs: readonly { readonly value: bigint }[]): bigint {
  return legs.reduce((total, { value }) => total + value, 0n)
}
