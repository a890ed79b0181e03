import { type Address, toFunctionSelector } from 'viem'
import { type ContractCall, type ReturnData, readMulticall } from '../../../chain/call/many/multicall.ts'
import { encodeCall, tryDecodeUint } from '../../../chain/call/words.ts'
import { ContractUnresponsiveError, type Endpoint } from '../../../chain/rpc/client.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { FamilyTarget } from '../../moment.ts'
import type { AaveV4Spoke } from '../table.ts'

const GET_RESERVE_COUNT = toFunctionSelector('getReserveCount()')
const GET_LAST_RISK_PREMIUM = toFunctionSelector('getUserLastRiskPremium(address)')
/** Getters of what a spoke stores of a wallet in a reserve, and their words. */
const OF_RESERVE = [
  { selector: toFunctionSelector('getUserPosition(uint256,address)'), words: 5 },
  { selector: toFunctionSelector('getUserReserveStatus(uint256,address)'), words: 2 },
]
/** As in the lens. */
const RESERVES_MAX = 512n

/**
 * Asks whether the only spoke of the target stores anything of each wallet at the target's block. Shares go when all is
 * withdrawn and repaid; a flag of a collateral, and the key of its configuration, may stay. Throws as `Endpoint.call`.
 */
export async function askTraces(
  endpoint: Endpoint,
  {
    target: { client, block, deployments },
    wallets,
    clock,
  }: { readonly target: FamilyTarget<AaveV4Spoke>; readonly wallets: readonly Address[]; readonly clock: Clock },
  work: Work,
): Promise<readonly boolean[]> {
  const [spoke] = deployments
  if (spoke === undefined) throw new Error('Cannot read traces: the target has no spoke')
  // The lens reads the parent block.
  if (block?.number === 0n) return wallets.map(() => false)
  const at = block ?? { chainId: client.chain.id }
  const ask = async (calls: readonly ContractCall[]): Promise<readonly ReturnData[]> =>
    (await readMulticall(endpoint, { calls, block: at, clock }, work)).results
  const [answer] = await ask([{ to: spoke.address, data: GET_RESERVE_COUNT }])
  const count = tryDecodeUint(answer)
  // At a past block the spoke may not stand yet.
  if (answer === '0x' && block !== undefined) return wallets.map(() => false)
  if (count === undefined || count > RESERVES_MAX) throw createSilenceError(spoke)
  const getters = [
    ...Array.from({ length: Number(count) }, (_, id) => id).flatMap((id) =>
      OF_RESERVE.map(({ selector, words }) => ({
        words,
        encode: (wallet: Address) => encodeCall(selector, BigInt(id), wallet),
      })),
    ),
    { words: 1, encode: (wallet: Address) => encodeCall(GET_LAST_RISK_PREMIUM, wallet) },
  ]
  const results = await ask(
    wallets.flatMap((wallet) => getters.map(({ encode }) => ({ to: spoke.address, data: encode(wallet) }))),
  )
  return wallets.map((_, index) => {
    const stored = results.slice(index * getters.length, (index + 1) * getters.length)
    if (getters.some(({ words }, at) => (stored[at] ?? '0x').length < 2 + words * 64)) throw createSilenceError(spoke)
    return stored.some((each = '0x') => /[^0]/.test(each.slice(2)))
  })
}

function createSilenceError({ name }: AaveV4Spoke): ContractUnresponsiveError {
  return new ContractUnresponsiveError(`spoke "${name}" does not answer`)
}
