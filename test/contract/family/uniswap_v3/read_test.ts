import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Address, toHex, zeroAddress } from 'viem'
import type { WithExpiry } from '../../../../src/chain/block_cache.ts'
import { LENS_MODES, type LensMode } from '../../../../src/chain/call/lens.ts'
import { createChainClient } from '../../../../src/chain/evm/evm_client.ts'
import type { BriefPosition, ChainRead } from '../../../../src/family/liquidity/enumerable/read/position.ts'
import { ListTooLongError } from '../../../../src/family/liquidity/list/selection.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { AbortedError, UnavailableError } from '../../../../src/lib/error.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import type { HostileKind } from '../../../devnet/hostile.ts'
import { type Devnet, sharedDevnet } from '../../../devnet/mod.ts'
import { decreaseLiquidityCall, swapCall } from '../../../devnet/uniswap_v3_calls.ts'
import { caseCount, IS_FULL } from '../../../support/cases.ts'
import {
  computeFigures,
  countedClient,
  createTestReader,
  DEPLOYMENT,
  patient,
  toWhole,
} from '../../../support/family/uniswap_v3/support.ts'
import { type FaultyRpc, REVERTING, startFaultyRpc } from '../../../support/rpc.ts'
import { createPatientClock, slowClock } from '../../../support/test_clock.ts'
import { placeSecondManager, SECOND } from './second_manager.ts'

const SIXTY = toWalletAddress('list of 60')
const THREE_HUNDRED = toWalletAddress('list of 300')
const RANDOM_COUNT = caseCount(400, 100)

let devnet: Devnet
let randomWallets: readonly Address[]
let burned: readonly bigint[]

beforeAll(async () => {
  devnet = await sharedDevnet()
  await devnet.mintMany(SIXTY, 60)
  await devnet.mintMany(THREE_HUNDRED, 300)
  await devnet.hostile()
  const random = await devnet.randomScenario(20_260_803, RANDOM_COUNT)
  randomWallets = random.wallets
  burned = random.burned
}, 120_000)

async function readWallet(wallet: Address, mode?: LensMode): Promise<ChainRead & { requests: string[] }> {
  const { client, requests } = countedClient(createDevnetChain(devnet), silentLog, createPatientClock())
  const { reader, targets: places } = createTestReader(client, mode === undefined ? {} : { mode })
  const [read] = await reader.readWallet(wallet, { targets: places, work: patient })
  if (read === undefined) throw new Error('Cannot read the devnet')
  return { ...read, positions: toWhole(read.positions), requests }
}

describe('readWallet()', () => {
  test('finds every position of wallets with 0, 1, 60 and 300 of them, in one request each', async () => {
    const { empty, single, retired, receiver } = devnet.wallets
    const wallets = { [empty]: 0, [single]: 1, [retired]: 1, [receiver]: 1, [SIXTY]: 60, [THREE_HUNDRED]: 300 }
    for (const [wallet, count] of Object.entries(wallets)) {
      const { positions, requests, spams, unreadable } = await readWallet(wallet as Address)
      expect(positions.map(({ tokenId }) => tokenId)).toEqual(await devnet.v3.readTokenIds(wallet as Address))
      expect({ count: positions.length, requests, spams, unreadable }).toEqual({
        count,
        spams: [],
        unreadable: [],
        requests: ['eth_call'],
      })
    }
  })

  test('answers many concurrent wallets as it answers each alone, in far fewer requests', async () => {
    const wallets = [...Object.values(devnet.wallets), SIXTY, THREE_HUNDRED, ...randomWallets]
    const { client, requests } = countedClient(createDevnetChain(devnet))
    const { reader, targets: places } = createTestReader(client)
    const alone: WithExpiry<ChainRead<BriefPosition>>[] = []
    for (const wallet of wallets) alone.push(...(await reader.readWallet(wallet, { targets: places, work: patient })))
    expect(requests).toHaveLength(wallets.length)
    requests.length = 0
    const together = await Promise.all(
      wallets.map((wallet) => reader.readWallet(wallet, { targets: places, work: patient })),
    )
    const shown = (reads: typeof alone) =>
      reads.map((read) => ({ ...read, positions: toWhole(read.positions), untilMs: 0 }))
    expect(shown(together.flat())).toEqual(shown(alone))
    expect(requests).toHaveLength(8 + Math.ceil((wallets.length - 8) / 8))
  }, 60_000)

  test('finds nothing at the zero address, for which managers refuse to count, without an error', async () => {
    for (const mode of LENS_MODES) {
      const { positions, spams, unreadable, block } = await readWallet(zeroAddress, mode)
      expect({ positions, spams, unreadable }).toEqual({ positions: [], spams: [], unreadable: [] })
      expect(block.number).toBeGreaterThan(0n)
    }
    expect((await readWallet(zeroAddress)).requests).toEqual(['eth_call'])
  })

  test('returns amounts and fees of random positions equal to the wei to what the contracts would pay', async () => {
    let compared = 0
    let open = 0
    let inRange = 0
    for (const wallet of [devnet.wallets.provider, SIXTY, ...randomWallets]) {
      const { positions, block } = await readWallet(wallet)
      const ids = positions.map(({ tokenId }) => tokenId)
      const [withdrawn, collected] = await Promise.all([
        devnet.v3.staticDecreaseMany(ids, block.number),
        devnet.v3.staticCollectMany(ids, block.number),
      ])
      for (const [index, position] of positions.entries()) {
        const figures = computeFigures(position)
        expect({ id: position.tokenId, amounts: figures.amounts, owed: figures.owed }).toEqual({
          id: position.tokenId,
          amounts: withdrawn[index] as typeof figures.amounts,
          owed: collected[index] as typeof figures.owed,
        })
        compared++
        if (position.liquidity > 0n) open++
        if (figures.inRange) inRange++
      }
    }
    expect(compared).toBeGreaterThan(RANDOM_COUNT)
    expect(open).toBeLessThan(compared)
    expect(inRange).toBeGreaterThan(RANDOM_COUNT / 8)
    expect(inRange).toBeLessThan(compared - RANDOM_COUNT / 8)
  }, 60_000)

  test('leaves burned ids out', async () => {
    expect(burned.length).toBeGreaterThan(0)
    const all = (
      await Promise.all([devnet.wallets.provider, ...randomWallets].map((wallet) => readWallet(wallet)))
    ).flatMap(({ positions }) => positions.map(({ tokenId }) => tokenId))
    for (const id of [...burned, devnet.positions.burned]) expect(all).not.toContain(id)
  })

  test('is the same in every lens mode, also with odd tokens', async () => {
    const { wallet: hostile } = await devnet.hostile()
    const { provider, empty, spammed } = devnet.wallets
    for (const wallet of [provider, empty, spammed, hostile, THREE_HUNDRED, ...randomWallets.slice(0, 1)]) {
      const [override, deployless] = await Promise.all(LENS_MODES.map((mode) => readWallet(wallet, mode)))
      const plain = ({ requests: _, untilMs: __, ...read }: WithExpiry<ChainRead> & { requests: string[] }) => read
      expect(plain(deployless as never)).toEqual(plain(override as never))
    }
  }, 60_000)

  test('returns the same list in brief as whole, and the same positions once they are completed', async () => {
    await placeSecondManager(devnet)
    const { wallet: hostile } = await devnet.hostile()
    const { provider, empty, spammed, receiver } = devnet.wallets
    const deployments = [DEPLOYMENT, SECOND]
    for (const mode of LENS_MODES) {
      for (const wallet of [provider, empty, spammed, receiver, hostile, SIXTY, ...randomWallets.slice(0, 1)]) {
        const { client } = countedClient(createDevnetChain(devnet))
        const whole = createTestReader(client, { deployments })
        const [expected] = await whole.reader.readWallet(wallet, { targets: whole.targets, work: patient })
        const { reader, targets: places } = createTestReader(client, { deployments, wholeMax: 0, mode })
        const reads = await reader.readWallet(wallet, { targets: places, work: patient })
        const [read] = reads
        const plain = ({ chainId, deployment, tokenId, liquidity }: BriefPosition) => {
          return { chainId, deployment, tokenId, liquidity }
        }
        const positions = read?.positions ?? []
        const block = { ...expected?.block, hash: read?.block.hash }
        expect({ ...read, positions: [], untilMs: 0 }).toEqual({
          ...expected,
          block,
          positions: [],
          untilMs: 0,
        } as never)
        expect(positions).toEqual((expected?.positions ?? []).map(plain))
        expect(await reader.complete(wallet, { reads, positions, work: patient })).toEqual({
          positions: toWhole(expected?.positions ?? []),
          unreadable: [],
        })
      }
    }
  }, 60_000)

  test('completes the other positions if a token changes its answers after the list was read', async () => {
    const { client: viem } = devnet
    const { wallet, positions: odd } = await devnet.hostile()
    const { client } = countedClient(createDevnetChain(devnet))
    const { reader, targets: places } = createTestReader(client, { wholeMax: 0 })
    const reads = await reader.readWallet(wallet, { targets: places, work: patient })
    const positions = reads.flatMap((read) => read.positions)
    const id = await viem.snapshot()
    try {
      const { token, tokenId } = odd.decimals36
      await viem.setCode({ address: token, bytecode: '0x' })
      const completed = await reader.complete(wallet, { reads, positions, work: patient })
      expect(completed.unreadable).toMatchObject([{ tokenId, reason: `token ${token} has no usable decimals` }])
      expect(completed.positions.map((each) => each.tokenId)).toEqual(
        positions.map((each) => each.tokenId).filter((each) => each !== tokenId),
      )
    } finally {
      await viem.revert({ id })
    }
  })

  test('completes no position of a list whose block was replaced', async () => {
    const { client: viem, wallets } = devnet
    const { client } = countedClient(createDevnetChain(devnet))
    const { reader, targets: places } = createTestReader(client, { wholeMax: 0 })
    const id = await viem.snapshot()
    await viem.mine({ blocks: 2, interval: 1 })
    const reads = await reader.readWallet(wallets.provider, { targets: places, work: patient })
    const positions = reads.flatMap((read) => read.positions)
    await viem.revert({ id })
    await viem.mine({ blocks: 2, interval: 7 })
    await expect(reader.complete(wallets.provider, { reads, positions, work: patient })).rejects.toBeInstanceOf(
      UnavailableError,
    )
  }, 20_000)

  test('needs a request per 40 positions without override and two to pin their block', async () => {
    expect((await readWallet(THREE_HUNDRED, 'deployless')).requests).toEqual([
      ...['eth_call', 'eth_getBlockByNumber'],
      ...Array(8).fill('eth_call'),
    ])
  })

  test('comes in pages although every fourth request is cut off, and sends only those again', async () => {
    const rpc = await startFaultyRpc(devnet.rpcUrl)
    try {
      const { client } = countedClient(createDevnetChain(devnet, { rpcUrls: [rpc.url] }))
      const { reader, targets: places } = createTestReader(client, { mode: 'deployless' })
      await reader.readOne(1n, { targets: places, work: patient })
      for (let times = 0; times < 5; times++) {
        rpc.reset()
        let requests = times
        rpc.rule(() => (++requests % 4 === 0 ? { kind: 'cut' } : undefined))
        const [read] = await reader.readWallet(SIXTY, { targets: places, work: patient })
        expect(read?.positions).toHaveLength(60)
        // A page of 40, the block to pin, two pages at it, and the retries.
        expect(rpc.seen.length).toBeLessThanOrEqual(4 + 1 + 1)
      }
    } finally {
      await rpc.stop()
    }
  })

  test('sorts odd tokens into listed, spam and unreadable, and loses none', async () => {
    const { wallet, positions } = await devnet.hostile()
    const read = await readWallet(wallet)
    const sorts: Record<'listed' | 'spam' | 'unreadable', HostileKind[]> = {
      listed: ['bytes32', 'decimals0', 'decimals36', 'hugeSymbol', 'lyingSymbol', 'emptySymbol', 'invalidUtf8'],
      spam: ['link', 'claimReward', 'linkInSymbol', 'control', 'bidi'],
      unreadable: ['bare', 'decimals255', 'wideDecimals', 'gasBurner', 'reverting', 'removed'],
    }
    const ids = (kinds: readonly HostileKind[]) => kinds.map((kind) => positions[kind].tokenId).sort()
    expect(read.positions.map(({ tokenId }) => tokenId).sort()).toEqual(ids(sorts.listed))
    expect(read.spams.map(({ tokenId }) => tokenId).sort()).toEqual(ids(sorts.spam))
    expect(read.unreadable.map(({ tokenId }) => tokenId).sort()).toEqual(ids(sorts.unreadable))
    expect(Object.values(sorts).flat().sort()).toEqual((Object.keys(positions) as HostileKind[]).sort())
    const shown = (kind: HostileKind) => {
      const found = read.positions.find(({ tokenId }) => tokenId === positions[kind].tokenId)
      const token = [found?.token0, found?.token1].find((each) => each?.address === positions[kind].token)
      return { symbol: token?.symbol, name: token?.name, decimals: token?.decimals }
    }
    expect(shown('bytes32')).toEqual({ symbol: 'MKR', name: 'Maker', decimals: 18 })
    expect(shown('decimals36').decimals).toBe(36)
    for (const kind of ['hugeSymbol', 'lyingSymbol', 'emptySymbol'] as const) {
      expect(shown(kind)).toEqual({ symbol: '', name: '', decimals: 18 })
    }
    expect(shown('invalidUtf8')).toEqual({ symbol: '\ufffd(', name: 'B\ufffd\ufffdD', decimals: 18 })
  })

  test('takes a token on the operator’s list for spam', async () => {
    const wallet = devnet.wallets.single
    const { client } = countedClient(createDevnetChain(devnet, { spamTokens: [devnet.addresses.tokens.usdc.address] }))
    const { reader, targets: places } = createTestReader(client)
    const [read] = await reader.readWallet(wallet, { targets: places, work: patient })
    expect(read?.positions).toEqual([])
    expect(read?.spams).toMatchObject([{ tokenId: devnet.positions.single, chainId: 1, manager: DEPLOYMENT.manager }])
  })

  test('counts a position whose pool is gone as unreadable, and answers the others', async () => {
    const { client: viem, positions, pools, wallets } = devnet
    const id = await viem.snapshot()
    try {
      await viem.setCode({ address: pools.wethUsdt500.address, bytecode: '0x' })
      for (const mode of LENS_MODES) {
        const { unreadable, positions: read } = await readWallet(wallets.provider, mode)
        expect(unreadable).toMatchObject([{ tokenId: positions.crossed, reason: 'its pool does not answer' }])
        expect(read).toHaveLength(9)
      }
    } finally {
      await viem.revert({ id })
    }
  })

  test('is read once for concurrent requests, and once per block', async () => {
    const { client, requests } = countedClient(createDevnetChain(devnet, { reuseMs: 600_000_000 }))
    const { reader, targets: places } = createTestReader(client)
    const ask = () => reader.readWallet(SIXTY, { targets: places, work: patient })
    const [first, second] = await Promise.all([ask(), ask()])
    expect(await ask()).toEqual(first)
    expect(second).toEqual(first)
    expect(requests).toEqual(['eth_call'])
  })

  test('fails as a whole if one chain fails, naming it', async () => {
    const good = countedClient(createDevnetChain(devnet)).client
    const dead = countedClient(
      createDevnetChain(devnet, { id: 10, name: 'Dead', rpcUrls: ['http://127.0.0.1:9'] }),
    ).client
    const places = [...createTestReader(good).targets, ...createTestReader(dead).targets]
    const { reader } = createTestReader(good)
    const failure = await reader.readWallet(SIXTY, { targets: places, work: patient }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(UnavailableError)
    expect((failure as Error).message).toContain('chain 10 (Dead)')
    expect((failure as Error).message).not.toContain('127.0.0.1')
  }, 20_000)

  test.each(REVERTING)('tries another endpoint if one answers %s, and is unavailable if all do', async (_, rule) => {
    const rpc = await startFaultyRpc(devnet.rpcUrl)
    try {
      rpc.rule(rule)
      const { receiver } = devnet.wallets
      const alone = createTestReader(countedClient(createDevnetChain(devnet, { rpcUrls: [rpc.url] })).client)
      const options = { targets: alone.targets, work: patient }
      await expect(alone.reader.readWallet(receiver, options)).rejects.toBeInstanceOf(UnavailableError)
      await expect(alone.reader.readOne(1n, options)).rejects.toBeInstanceOf(UnavailableError)
      const both = createTestReader(
        countedClient(createDevnetChain(devnet, { rpcUrls: [rpc.url, devnet.rpcUrl] })).client,
      )
      const [read] = await both.reader.readWallet(receiver, { targets: both.targets, work: patient })
      expect(read?.positions).toHaveLength(1)
    } finally {
      await rpc.stop()
    }
  })

  test('is unavailable in every lens mode if the newest block is a day from the clock', async () => {
    const { timestamp } = await devnet.client.getBlock()
    for (const offMs of [-86_400_000, 86_400_000]) {
      const clock = { ...slowClock, now: () => Number(timestamp) * 1_000 + offMs }
      const chain = createDevnetChain(devnet, { blockTimeMs: 12_000, reuseMs: 12_000, maxBlockAgeSec: 3_600 })
      const client = createChainClient({ chain, clock, log: silentLog })
      for (const mode of LENS_MODES) {
        const { reader, targets } = createTestReader(client, { mode })
        const options = { targets, work: patient }
        await expect(reader.readWallet(SIXTY, options)).rejects.toBeInstanceOf(UnavailableError)
        await expect(reader.readOne(1n, options)).rejects.toBeInstanceOf(UnavailableError)
      }
    }
  })

  test('fails if a manager does not answer, instead of counting nothing', async () => {
    const { client } = countedClient(createDevnetChain(devnet))
    for (const mode of LENS_MODES) {
      const { reader, targets } = createTestReader(client, {
        deployments: [DEPLOYMENT, { ...DEPLOYMENT, manager: toWalletAddress('no contract') }],
        mode,
      })
      const options = { targets, work: patient }
      await expect(reader.readWallet(SIXTY, options)).rejects.toBeInstanceOf(UnavailableError)
      await expect(reader.readOne(1n, options)).rejects.toBeInstanceOf(UnavailableError)
    }
  }, 60_000)

  test('refuses a list of more than 100,000 positions instead of cutting it', async () => {
    const manager = toWalletAddress('crowded manager')
    // Returns 100,001 to every question: PUSH3, PUSH1 0, MSTORE, PUSH1 32, PUSH1 0, RETURN.
    const bytecode = `0x62${toHex(100_001, { size: 3 }).slice(2)}60005260206000f3` as const
    await devnet.client.setCode({ address: manager, bytecode })
    for (const mode of LENS_MODES) {
      const { client, requests } = countedClient(createDevnetChain(devnet))
      const { reader, targets: places } = createTestReader(client, {
        deployments: [{ ...DEPLOYMENT, manager }],
        mode,
      })
      await expect(reader.readWallet(SIXTY, { targets: places, work: patient })).rejects.toBeInstanceOf(
        ListTooLongError,
      )
      expect(requests.length).toBeLessThanOrEqual(2)
    }
  })

  const WAYS = [
    ['deployless', {}],
    ['override', { wholeMax: 0 }],
    ['deployless', { wholeMax: 0 }],
  ] as const
  describe.each(IS_FULL ? WAYS : WAYS.slice(0, 2))('by several calls, %s, %o,', (mode, how) => {
    let rpc: FaultyRpc

    beforeAll(async () => {
      rpc = await startFaultyRpc(devnet.rpcUrl)
    })
    afterAll(() => rpc.stop())

    async function read() {
      const { client } = countedClient(createDevnetChain(devnet, { rpcUrls: [rpc.url] }))
      const { reader, targets: places } = createTestReader(client, { mode, ...how })
      const reads = await reader.readWallet(SIXTY, { targets: places, work: patient })
      const positions = reads.flatMap((each) => each.positions)
      return (await reader.complete(SIXTY, { reads, positions, work: patient })).positions
    }

    test('finds all positions behind an address of two nodes, one of which is a block behind', async () => {
      await devnet.rpc.call('evm_mine')
      for (const late of [0, 1]) {
        let requests = 0
        rpc.rule(() => (requests++ % 2 === late ? { kind: 'lag', blocks: 1 } : undefined))
        expect(await read()).toHaveLength(60)
      }
    })

    test('gives up on a block that never comes, within its time limit', async () => {
      rpc.rule(({ params }) => (typeof params[1] === 'object' ? { kind: 'lag', blocks: 1 } : undefined))
      await expect(read()).rejects.toBeInstanceOf(UnavailableError)
      expect(rpc.seen.length).toBeLessThan(100)
    })

    test('never joins two forks, even if a sibling replaces the block before any call', async () => {
      const { client: viem, pools, send, addresses } = devnet
      const pool = pools.usdcWeth3000
      const { weth, usdc } = addresses.tokens
      const truth = async () => (await readWallet(SIXTY, 'override')).positions
      let replaced = 0
      // The last of five finds no call to come between.
      const calls = IS_FULL ? [1, 2, 3, 4, 5] : [1, 2, 3]
      for (const call of calls) {
        const before = await viem.snapshot()
        const timestamp = (await viem.getBlock()).timestamp + 12n
        const open = (await truth()).find((each) => each.pool.address === pool.address && each.liquidity > 0n)
        const { tokenId = 0n, liquidity = 0n } = open ?? {}
        await viem.setNextBlockTimestamp({ timestamp })
        await send([
          swapCall({ pool, tokenIn: weth.address, amountIn: 10n ** 18n }),
          decreaseLiquidityCall({ tokenId, owner: SIXTY, liquidity: liquidity / 2n }),
        ])
        const forks = [await truth()]
        let calls = 0
        rpc.rule(({ method }) => {
          if (method !== 'eth_call' || ++calls !== call) return undefined
          const done = async () => {
            replaced++
            await viem.revert({ id: before })
            await viem.setNextBlockTimestamp({ timestamp })
            await send([swapCall({ pool, tokenIn: usdc.address, amountIn: 10n ** 9n })])
            forks.push(await truth())
          }
          return { kind: 'meanwhile', done }
        })
        const list = await read().catch((error: unknown) => {
          // A list in brief whose block is gone cannot be completed any more.
          expect(error).toBeInstanceOf(UnavailableError)
          expect({ how, call }).toEqual({ how: { wholeMax: 0 }, call: expect.any(Number) })
          expect(call).toBeGreaterThan(1)
        })
        if (list !== undefined) expect(forks).toContainEqual(list)
        expect(forks[1]).not.toEqual(forks[0])
      }
      expect(replaced).toBeGreaterThan(2)
    }, 60_000)
  })

  test('stops when the caller aborts', async () => {
    const { client } = countedClient(createDevnetChain(devnet))
    const { reader, targets: places } = createTestReader(client)
    const leaving = new AbortController()
    const reading = reader.readWallet(SIXTY, { targets: places, work: createWork(leaving.signal) })
    leaving.abort()
    await expect(reading).rejects.toBeInstanceOf(AbortedError)
  })

  test('reads deployless if override is refused, and remembers it', async () => {
    const chain = createDevnetChain(devnet)
    const { client, requests } = countedClient(chain)
    const { reader, targets: places } = createTestReader({
      ...client,
      read: (attempt, options) =>
        client.read((endpoint, work) => {
          const { call } = endpoint
          endpoint.call = async (request, within) => {
            // A node that ignores the third parameter answers as for an address without code.
            const { code: _, ...plain } = request
            return call.call(endpoint, plain, within)
          }
          return attempt(endpoint, work).finally(() => {
            endpoint.call = call
          })
        }, options),
    })
    const [first] = await reader.readWallet(SIXTY, { targets: places, work: patient })
    expect(first?.positions).toHaveLength(60)
    // The one that is ignored, then 40 positions, the header, and all in two pages.
    expect(requests).toHaveLength(5)
    await reader.readWallet(SIXTY, { targets: places, work: patient })
    expect(requests).toHaveLength(9)
  })
})

describe('readOne()', () => {
  test('finds a position and its owner, in one request, and nothing for burned and unknown ids', async () => {
    const { positions, wallets } = devnet
    for (const mode of LENS_MODES) {
      const { client, requests } = countedClient(createDevnetChain(devnet))
      const { reader, targets } = createTestReader(client, { mode })
      const options = { targets, work: patient }
      const [found] = await reader.readOne(positions.transferred, options)
      expect(found?.positions).toMatchObject([{ tokenId: positions.transferred, owner: wallets.receiver }])
      expect(requests).toEqual(['eth_call'])
      for (const id of [positions.burned, 0n, 10n ** 30n, 2n ** 256n - 1n]) {
        const [read] = await reader.readOne(id, options)
        expect({ positions: read?.positions, unreadable: read?.unreadable }).toEqual({ positions: [], unreadable: [] })
      }
    }
  })

  test('equals the same position of the list', async () => {
    const { client } = countedClient(createDevnetChain(devnet))
    const { reader, targets } = createTestReader(client)
    const options = { targets, work: patient }
    const [list] = await reader.readWallet(devnet.wallets.provider, options)
    for (const position of toWhole(list?.positions ?? [])) {
      const [one] = await reader.readOne(position.tokenId, options)
      expect(one?.positions).toEqual([position])
    }
  })

  test('finds an id on every manager that knows it, each pool with its own manager', async () => {
    await placeSecondManager(devnet)
    for (const mode of LENS_MODES) {
      const { client } = countedClient(createDevnetChain(devnet))
      const { reader, targets: places } = createTestReader(client, { deployments: [DEPLOYMENT, SECOND], mode })
      const [one] = await reader.readOne(1n, { targets: places, work: patient })
      expect(one?.positions.map(({ deployment, tokenId }) => ({ tokenId, code: deployment.code }))).toEqual([
        { tokenId: 1n, code: 'uniswap_v3' },
        { tokenId: 1n, code: 'second_exchange' },
      ])
      const [list] = await reader.readWallet(devnet.wallets.receiver, { targets: places, work: patient })
      expect(list?.positions.map(({ deployment }) => deployment.code)).toEqual(['uniswap_v3', 'second_exchange'])
    }
  })
})
