import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, numberToHex, toFunctionSelector } from 'viem'
import type { LensMode } from '../../../../src/chain/call/lens.ts'
import { createSpokeReader } from '../../../../src/family/aave_v4/read/read.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { ACCESS_MANAGER, recordSnapshot } from '../../../devnet/aave_v4/record.ts'
import { placeReplay, type RecordedCall } from '../../../devnet/aave_v4/replay.ts'
import { readVectors, type Snapshot } from '../../../devnet/aave_v4/vectors.ts'
import { withLensMode } from '../../../support/lens_mode.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { listWallets, type ReplayedChain, startReplayedChain, toRow } from './support.ts'

const LIMIT_MS = 120_000
const patient = createWork(new AbortController().signal)

let chain: ReplayedChain
let snapshot: Snapshot
let recorded: readonly RecordedCall[]

beforeAll(async () => {
  chain = await startReplayedChain()
  // A lens reads the parent of its block.
  await chain.rpc.call('evm_mine')
  const [first] = readVectors().snapshots
  if (first === undefined) throw new Error('Expected a snapshot')
  snapshot = first
  recorded = recordSnapshot(snapshot)
}, LIMIT_MS)
afterAll(() => chain?.anvil.stop(), LIMIT_MS)

async function read(wallets: readonly Address[], mode?: LensMode) {
  const spokes = toRow(snapshot).aaveV4.spokes.map((spoke) => {
    return { ...spoke, address: spoke.address as Address, startBlock: 0 }
  })
  const reader = createSpokeReader({
    clients: new Map([[1, withLensMode(chain.client, mode)]]),
    deployments: new Map([[1, { accessManager: ACCESS_MANAGER, spokes }]]),
    clock: slowClock,
  })
  const [answer] = await reader.read(wallets, { targets: [...reader.targets.values()], work: patient })
  if (answer === undefined) throw new Error('Expected an answer')
  return { wallets: answer.wallets, unanswerable: answer.unanswerable }
}

/** Wallets that have nothing, of which the replay knows nothing. */
const strangers = (count: number): Address[] =>
  Array.from({ length: count }, (_, index) => numberToHex(0xabcdef0000n + BigInt(index), { size: 20 }))

test(
  'both ways of running the lens give the same positions, in pages too',
  async () => {
    await placeReplay(chain.rpc, recorded, { others: 'zero' })
    const held = listWallets(snapshot)
    const wallets = [...held.slice(0, 8), ...strangers(40), ...held.slice(8)]
    const whole = await read(wallets)
    expect(whole.wallets.length).toBeGreaterThan(10)
    expect(await read(wallets, 'deployless')).toEqual(whole)
    const alone = await Promise.all(held.map((wallet) => read([wallet])))
    expect(alone.flatMap((each) => each.wallets)).toEqual([...whole.wallets])
  },
  LIMIT_MS,
)

/** Selectors of getters without which an account cannot be told. */
const GETTERS = [
  ['getUserPosition(uint256,address)', /does not return the wallet's positions/],
  ['getUserReserveStatus(uint256,address)', /does not return the wallet's positions/],
  ['getUserSuppliedAssets(uint256,address)', /does not return what the wallet has/],
  ['getUserDebt(uint256,address)', /does not return what the wallet has/],
  ['getUserLastRiskPremium(address)', /does not return the wallet's risk premium/],
  ['getUserAccountData(address)', /cannot value the account/],
  ['getAsset(uint256)', /does not tell its terms/],
  ['getSpoke(uint256,address)', /does not tell its terms/],
  ['getAssetDrawnIndex(uint256)', /does not tell its terms/],
  ['getAddedAssets(uint256)', /does not tell its terms/],
  ['getDynamicReserveConfig(uint256,uint32)', /does not tell its terms/],
  ['getReservePrice(uint256)', /has no price/],
] as const

test(
  'where a getter does not answer, the account has no value and says why; it is never taken for empty',
  async () => {
    const [wallet] = listWallets(snapshot)
    if (wallet === undefined) throw new Error('Expected a wallet')
    const spokes = (await read([wallet])).wallets[0]?.positions.length
    expect(spokes).toBeGreaterThan(1)
    for (const [signature, reason] of GETTERS) {
      const selector = toFunctionSelector(signature)
      const silent = recorded.map((call) =>
        call.data.startsWith(selector) ? { ...call, answer: '0x' as const, reverts: true } : call,
      )
      await placeReplay(chain.rpc, silent)
      const { wallets, unanswerable } = await read([wallet])
      expect({ signature, wallets }).toEqual({ signature, wallets: [] })
      expect(unanswerable.length).toBeGreaterThanOrEqual(spokes ?? 0)
      for (const each of unanswerable) expect(each.reason).toMatch(reason)
    }
  },
  LIMIT_MS,
)

test(
  'a spoke that does not answer at all fails the whole read, naming it',
  async () => {
    const silent = recorded.map((call) =>
      call.data.startsWith(toFunctionSelector('getReserveCount()'))
        ? { ...call, answer: '0x' as const, reverts: true }
        : call,
    )
    await placeReplay(chain.rpc, silent)
    await expect(read(listWallets(snapshot).slice(0, 1))).rejects.toThrow(/spoke "main" does not answer/)
  },
  LIMIT_MS,
)

test(
  '500 wallets and more are read in pages at one block',
  async () => {
    await placeReplay(chain.rpc, recorded, { others: 'zero' })
    const many = await read([...strangers(500), ...listWallets(snapshot)])
    expect(many.wallets.length).toBeGreaterThan(10)
  },
  LIMIT_MS,
)
