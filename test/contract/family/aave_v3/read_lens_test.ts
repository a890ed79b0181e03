import { beforeAll, describe, expect, test } from 'bun:test'
import type { Address, Hex } from 'viem'
import { type CallBlock, RpcRefusedError } from '../../../../src/chain/rpc/client.ts'
import { LENS_RUNTIME } from '../../../../src/family/aave_v3/read/lens_artifact.ts'
import { readWallets } from '../../../../src/family/aave_v3/read/read.ts'
import { UpstreamError } from '../../../../src/lib/error.ts'
import type { AaveDevnet } from '../../../devnet/aave_v3/mod.ts'
import { sharedAave } from '../../../devnet/aave_v3/shared.ts'
import type { Devnet } from '../../../devnet/mod.ts'
import { DEPLOYMENTS } from './support.ts'

const AT = '0x0000000000000000000000000000000000aa7e57'
const RANDOM_COUNT = 40
const PLENTY = 200_000_000

let devnet: Devnet
let aave: AaveDevnet
let wallets: readonly Address[]

beforeAll(async () => {
  const shared = await sharedAave()
  devnet = shared.devnet
  aave = shared.aave
  // The lender, who comes after the random ones, holds the most: a page that begins with it costs the most.
  wallets = [...(await aave.randomWallets(612, RANDOM_COUNT)).wallets, ...Object.values(aave.wallets)]
}, 180_000)

interface Asked {
  readonly data: Hex
  readonly block: CallBlock
}

/** Reads in pages of `pageSize`; `gasOf` and `blockOf` say what the call of a number gets, `change` what becomes of its answer. */
async function readPaged(options: {
  readonly pageSize: number
  readonly gasOf?: (call: number) => number
  readonly blockOf?: (call: number, asked: Asked['block']) => Asked['block']
  readonly change?: (call: number, answer: Hex) => Hex
}) {
  const { pageSize, gasOf = () => PLENTY, blockOf = (_, asked) => asked, change = (_, answer) => answer } = options
  const heads: bigint[] = []
  let calls = 0
  const read = await readWallets(
    {
      mode: 'override',
      at: undefined,
      call: async ({ data, block }: Asked) => {
        const number = calls++
        const at = blockOf(number, block)
        const request = { to: AT, data, gas: `0x${gasOf(number).toString(16)}` }
        const tag = typeof at === 'object' ? { blockHash: at.hash } : at
        return change(number, await devnet.rpc.call<Hex>('eth_call', request, tag, { [AT]: { code: LENS_RUNTIME } }))
      },
      async pin() {
        const { number, hash, parentHash, timestamp } = await devnet.client.getBlock()
        heads.push(number)
        return { chainId: devnet.chainId, number, hash, parentHash, timestampSec: timestamp }
      },
      observeBlock: ({ number }) => void heads.push(number),
    },
    { providers: DEPLOYMENTS.map(({ poolAddressesProvider }) => poolAddressesProvider), wallets, pageSize },
  )
  return { read, calls, heads }
}

describe('readWallets()', () => {
  test('reads pages of any size as one, each reserve and category once', async () => {
    const whole = await readPaged({ pageSize: 1_000 })
    expect([whole.calls, whole.read.taken]).toEqual([1, wallets.length])
    for (const pageSize of [1, 7, wallets.length - 1]) {
      const paged = await readPaged({ pageSize })
      expect(paged.read as unknown).toEqual(whole.read)
      expect(paged.calls).toBe(Math.ceil(wallets.length / pageSize))
      expect(paged.heads).toEqual([whole.read.block.number])
    }
  })

  test('continues after a page that ended early because gas ran out, the first or a later one', async () => {
    const whole = await readPaged({ pageSize: 1_000 })
    // The single page at the latest block is discarded, and everything is read again at a pinned block.
    const firstShort = await readPaged({ pageSize: 1_000, gasOf: (call) => (call === 0 ? 9_000_000 : PLENTY) })
    expect(firstShort.read as unknown).toEqual(whole.read)
    expect(firstShort.calls).toBeGreaterThan(2)
    const laterShort = await readPaged({ pageSize: 30, gasOf: (call) => (call === 1 ? 5_000_000 : PLENTY) })
    expect(laterShort.read as unknown).toEqual(whole.read)
    expect(laterShort.calls).toBe(Math.ceil(wallets.length / 30) + 1)
  })

  test('throws RpcRefusedError if the gas is too little for one wallet, in the first page or a later one', async () => {
    await expect(readPaged({ pageSize: 30, gasOf: () => 4_000_000 })).rejects.toThrow(RpcRefusedError)
    const later = readPaged({ pageSize: RANDOM_COUNT, gasOf: (call) => (call === 0 ? PLENTY : 4_000_000) })
    await expect(later).rejects.toThrow(RpcRefusedError)
  })

  test('refuses pages of two blocks, whether their numbers or only their forks differ', async () => {
    await devnet.rpc.call('evm_mine')
    const { parentHash } = await devnet.client.getBlock()
    const older = readPaged({
      pageSize: 30,
      blockOf: (call, asked) => (call === 1 ? { hash: parentHash } : asked),
    })
    await expect(older).rejects.toThrow(UpstreamError)
    // Version, chain id, number and time are 25 bytes: this is the first digit of the parent's hash.
    const at = 2 + 25 * 2
    const forked = (answer: Hex): Hex =>
      `${answer.slice(0, at)}${answer[at] === '0' ? 1 : 0}${answer.slice(at + 1)}` as Hex
    for (const changed of [1, 2]) {
      const other = readPaged({ pageSize: 30, change: (call, answer) => (call === changed ? forked(answer) : answer) })
      await expect(other).rejects.toThrow('The chain changed between two pages')
    }
  })
})
