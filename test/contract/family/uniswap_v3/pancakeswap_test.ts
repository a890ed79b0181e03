import { beforeAll, expect, test } from 'bun:test'
import { nonfungiblePositionManagerABI } from '@pancakeswap/v3-sdk'
import { type Abi, isAddressEqual } from 'viem'
import { LENS_MODES, type LensMode } from '../../../../src/chain/call/lens.ts'
import type { Endpoint } from '../../../../src/chain/rpc/client.ts'
import type { EnumerableDeployment } from '../../../../src/family/liquidity/enumerable/exchange.ts'
import { readNextId } from '../../../../src/family/liquidity/enumerable/position_history/reader.ts'
import { isUnminted } from '../../../../src/family/liquidity/position_history/mint_block.ts'
import type { Work } from '../../../../src/lib/async/work.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, sharedDevnet } from '../../../devnet/mod.ts'
import { addPancakeswapV3, type PancakeswapDevnet } from '../../../devnet/pancakeswap_v3/mod.ts'
import { MANAGER_ABI } from '../../../devnet/uniswap_v3_calls.ts'
import {
  computeFigures,
  countedClient,
  createTestReader,
  DEPLOYMENT,
  patient,
  toWhole,
} from '../../../support/family/uniswap_v3/support.ts'
import { PANCAKESWAP_INIT_CODE_HASHES } from '../../../support/registries.ts'
import { slowClock } from '../../../support/test_clock.ts'

let devnet: Devnet
let pancakeswap: PancakeswapDevnet
let deployments: readonly EnumerableDeployment[]

beforeAll(async () => {
  devnet = await sharedDevnet()
  pancakeswap = await addPancakeswapV3(devnet)
  const { manager, factory } = pancakeswap
  deployments = [DEPLOYMENT, { manager, factory, startBlock: 0, code: 'pancakeswap_v3' }]
}, 60_000)

async function read(mode: LensMode) {
  const { client } = countedClient(createDevnetChain(devnet))
  const { reader, targets: places } = createTestReader(client, { deployments, mode })
  const [answer] = await reader.readWallet(pancakeswap.owner, { targets: places, work: patient })
  if (answer === undefined) throw new Error('Cannot read the devnet')
  return { ...answer, positions: toWhole(answer.positions) }
}

test('the pool of the devnet has the code of all PancakeSwap pools, and a protocol fee that does not fit in a byte', () => {
  const { initCodeHash, feeProtocol } = pancakeswap
  for (const id of [1, 56, 8_453, 42_161]) expect(PANCAKESWAP_INIT_CODE_HASHES.get(id)).toBe(initCodeHash)
  expect(feeProtocol).toBeGreaterThan(255)
})

test('PancakeSwap’s manager answers the same calls as Uniswap’s, in the same layout', () => {
  const shapes = (abi: Abi) =>
    ['balanceOf', 'tokenOfOwnerByIndex', 'ownerOf', 'positions'].map((name) => {
      const found = abi.find((each) => each.type === 'function' && each.name === name)
      if (found?.type !== 'function') throw new Error(`Cannot find ${name}`)
      return [name, ...[found.inputs, found.outputs].map((list) => list.map(({ type }) => type).join())]
    })
  expect(shapes(nonfungiblePositionManagerABI as Abi)).toEqual(shapes(MANAGER_ABI))
})

test('positions of PancakeSwap V3 are worth, to the wei, what its contracts would pay, in every lens mode', async () => {
  for (const mode of LENS_MODES) {
    const { positions, spams, unreadable } = await read(mode)
    expect({ spams, unreadable }).toEqual({ spams: [], unreadable: [] })
    expect(positions.map(({ tokenId }) => tokenId)).toEqual([...pancakeswap.tokenIds])
    for (const position of positions) {
      const { amounts, owed } = computeFigures(position)
      expect(amounts).toEqual(await pancakeswap.staticDecrease(position.tokenId))
      expect(owed).toEqual(await pancakeswap.staticCollect(position.tokenId))
      expect(position.deployment.code).toBe('pancakeswap_v3')
      expect(position.pool.fee).toBe(2_500)
      expect(isAddressEqual(position.pool.address, pancakeswap.pool.address)).toBe(true)
    }
    const earning = positions.filter(
      (each) => computeFigures(each).owed.amount0 > 0n && computeFigures(each).owed.amount1 > 0n,
    )
    expect(earning.length).toBeGreaterThanOrEqual(2)
  }
})

test('PancakeSwap’s manager counts its positions where Uniswap’s does', async () => {
  const { client } = countedClient(createDevnetChain(devnet))
  const last = pancakeswap.tokenIds.at(-1) ?? 0n
  const deployment = deployments.find(({ code }) => code === 'pancakeswap_v3') ?? DEPLOYMENT
  const asked = { manager: deployment.manager, chainId: client.chain.id, clock: slowClock }
  const next = (endpoint: Endpoint, work: Work) => readNextId(endpoint, asked, work)
  const unminted = (tokenId: bigint) => isUnminted({ client, tokenId }, next, patient)
  expect(await Promise.all([1n, last, last + 1n].map(unminted))).toEqual([false, false, true])
})
