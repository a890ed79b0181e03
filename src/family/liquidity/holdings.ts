import { type Address, checksumAddress, isAddressEqual } from 'viem'
import type { Pair } from '../../finance/math/pnl/flow.ts'
import type { PricedToken } from '../../finance/token/priced_token.ts'
import type { Work } from '../../lib/async/work.ts'
import { memoize } from '../../lib/memoize.ts'
import { minBigint } from '../../lib/number/fixed_point.ts'
import { addLiquidityRow, addLiquidityRows, countOmitted, type Holding, type HoldingsReader } from '../holding.ts'
import type { PositionOutlook } from '../outlook.ts'
import type { UnreadablePosition } from './list/classify.ts'
import { outlookLiquidity, outlookUnreadable } from './outlook.ts'
import type {
  BriefPosition,
  LiquidityDeployment,
  LiquidityPosition,
  LiquidityProtocol,
  LiquidityReader,
  Reward,
} from './protocol.ts'
import type { WithdrawnReader } from './withdrawn.ts'

/** Creates a reader of a wallet's positions as rows of a portfolio. */
export function createHoldingsReader<
  Deployment extends LiquidityDeployment,
  Brief extends BriefPosition,
  Position extends LiquidityPosition<Deployment>,
  Withdrawal,
>(
  protocol: LiquidityProtocol<Deployment, Brief, Position, Withdrawal>,
  {
    reader,
    readWithdrawn,
  }: {
    readonly reader: Pick<LiquidityReader<Deployment, Brief, Position, Withdrawal>, 'targets' | 'past' | 'readHeld'>
    readonly readWithdrawn: WithdrawnReader<Position>
  },
): HoldingsReader {
  const { name: family, getManager, toHeldParts, withdrawn, exitPosition, listLenders } = protocol
  const getManagerAddress = memoize((deployment: Deployment) => checksumAddress(getManager(deployment)))

  function toIds({ deployment, tokenId }: Position) {
    return { family, manager_address: getManagerAddress(deployment), token_id: `${tokenId}` }
  }

  /** Converts positions to rows, without empty ones. */
  function toRows(
    positions: readonly Position[],
    withdrawals: ReadonlyMap<Position, Withdrawal> | undefined,
    principals: readonly (Pair<bigint> | undefined)[] = [],
  ): Holding[] {
    const rows: Holding[] = []
    const left = new Map<string, bigint>()
    for (const [index, position] of positions.entries()) {
      const ids = toIds(position)
      const context = { withdrawal: withdrawals?.get(position), withdrawn: principals[index] }
      for (const { part, refused, ...amounts } of toHeldParts(position, context)) {
        addLiquidityRows(rows, position, { ...amounts, position: { ...ids, part }, refused })
      }
      for (const reward of protocol.computeRewards?.(position) ?? []) {
        const amount = payReward(reward, { custodian: protocol.getCustodian?.(position)?.address, left })
        addLiquidityRow(rows, { token: reward.token, amount }, { position: { ...ids, part: 'rewards' } })
      }
    }
    return rows
  }

  function outlookPosition(position: Position, timestampSec: bigint): PositionOutlook {
    const { deployment, tokenId, liquidity, tickLower, tickUpper, token0, token1, pool } = position
    return outlookLiquidity({
      position: toIds(position),
      code: protocol.getCode(deployment),
      tokenId: `${tokenId}`,
      liquidity,
      tickLower,
      tickUpper,
      tick: pool.tick,
      tokens: [token0, token1],
      owed: protocol.computeHeldAmounts(position).owed,
      isCredited: withdrawn?.isOwed(position) ?? false,
      inside: protocol.computeInside(position),
      timestampSec,
    })
  }

  function outlookBroken(
    { manager, tokenId, reason }: UnreadablePosition,
    deployments: readonly Deployment[],
  ): PositionOutlook[] {
    const deployment = deployments.find((each) => isAddressEqual(getManager(each), manager))
    if (deployment === undefined) return []
    const position = { family, manager_address: getManagerAddress(deployment), token_id: `${tokenId}` }
    return [outlookUnreadable({ position, code: protocol.getCode(deployment) }, { tokenId: `${tokenId}`, reason })]
  }

  return {
    chainIds: new Set(reader.targets.keys()),
    async open(wallet, { client, block }, work) {
      const target = reader.targets.get(client.chain.id)
      if (target === undefined) return undefined
      const dated = { ...target, client, ...(block && { block }) }
      const deployments = await reader.past.filterDeployed(dated, work)
      if (deployments.length === 0) return undefined
      return async (request, within) => {
        const { positionsMax } = request
        const held = await reader.readHeld({ ...dated, deployments, wallet }, request, within)
        const { count, unreadable, withdrawals } = held
        // The first page may hold more.
        const positions = held.positions.slice(0, positionsMax)
        const at = { client, block: held.block.number }
        return {
          block: held.block,
          rows: toRows(positions, withdrawals),
          ...(withdrawn !== undefined &&
            positions.some(withdrawn.isOwed) && {
              itemize: async (shared: Work) =>
                toRows(positions, withdrawals, await readWithdrawn(positions, at, shared)),
            }),
          ...countOmitted({ family, kind: 'liquidity', count }, positionsMax),
          ownTokens: [],
          emptied: listEmptied(positions),
          notRead: unreadable.map(({ manager, tokenId, reason }) => `position ${tokenId} of ${manager}: ${reason}`),
          listOutlooks: () => [
            ...positions.map((each) => outlookPosition(each, held.block.timestampSec)),
            ...unreadable.flatMap((each) => outlookBroken(each, deployments)),
          ],
          listExits: () => positions.map((each) => ({ position: toIds(each), ...exitPosition(each) })),
          lenders: listLenders === undefined ? [] : deployments.flatMap(listLenders),
        }
      }
    },
  }
}

/** Takes a reward out of what its custodian has left after those before; a sum counts these funds once. */
function payReward(
  { token, amount, funds }: Reward,
  { custodian, left }: { readonly custodian: Address | undefined; readonly left: Map<string, bigint> },
): bigint {
  if (funds === undefined) return amount
  const purse = `${custodian}:${token.address}`
  const before = left.get(purse) ?? funds
  const paid = minBigint(amount, before)
  left.set(purse, before - paid)
  return paid
}

/** Lists the tokens of positions without liquidity, each once; the native one and spam are left out. */
function listEmptied(
  positions: readonly { readonly liquidity: bigint; readonly token0: PricedToken; readonly token1: PricedToken }[],
): Address[] {
  const tokens = positions.flatMap(({ liquidity, token0, token1 }) => (liquidity === 0n ? [token0, token1] : []))
  return [...new Set(tokens.filter(({ spam }) => spam === undefined).map(({ address }) => address))]
}
