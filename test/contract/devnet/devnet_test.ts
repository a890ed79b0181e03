import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, encodeAbiParameters, getContractAddress, type Hex, keccak256, parseAbi } from 'viem'
import { TOKENS, toWalletAddress } from '../../devnet/addresses.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { MANAGER_ABI, type Pool } from '../../devnet/uniswap_v3_calls.ts'
import { caseCount } from '../../support/cases.ts'

const POOL_INIT_CODE_HASH = '0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54'

const FEED_ABI = parseAbi([
  'function decimals() view returns (uint8)',
  'function description() view returns (string)',
  'function latestRoundData() view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)',
])

const TOKEN_ABI = parseAbi([
  'function symbol() view returns (string)',
  'function decimals() view returns (uint8)',
  'function balanceOf(address owner) view returns (uint256)',
])

let devnet: Devnet

beforeAll(async () => {
  // As it is built: other files move the one that they share.
  devnet = await startDevnet()
}, 60_000)
afterAll(() => devnet?.stop())

test('a wallet without ether writes through the viem client from any address', async () => {
  const { client, addresses } = devnet
  const [address, account] = [addresses.tokens.dai.address, toWalletAddress('penniless')]
  const abi = parseAbi(['function approve(address spender, uint256 value) returns (bool)'])
  const hash = await client.writeContract({ address, abi, functionName: 'approve', args: [account, 1n], account })
  expect((await client.waitForTransactionReceipt({ hash })).status).toBe('success')
})

test('startDevnet() reports its stages', async () => {
  const stages: string[] = []
  const other = await startDevnet({ onProgress: (stage) => stages.push(stage) })
  await other.stop()
  expect(stages.length).toBeGreaterThanOrEqual(3)
}, 20_000)

test('the devnet is chain 1 with the factory, the manager and WETH wired to each other', async () => {
  const { client, addresses } = devnet
  const abi = parseAbi(['function factory() view returns (address)', 'function WETH9() view returns (address)'])
  expect(await client.getChainId()).toBe(1)
  for (const address of [addresses.uniswapV3.manager, addresses.uniswapV3.router]) {
    expect(await client.readContract({ address, abi, functionName: 'factory' })).toBe(addresses.uniswapV3.factory)
    expect(await client.readContract({ address, abi, functionName: 'WETH9' })).toBe(addresses.tokens.weth.address)
  }
})

test('Multicall3 at its address answers for all tokens, with their symbols and decimals', async () => {
  const contracts = Object.values(TOKENS).flatMap(({ address }) => [
    { address, abi: TOKEN_ABI, functionName: 'symbol' as const },
    { address, abi: TOKEN_ABI, functionName: 'decimals' as const },
  ])
  const answers = await devnet.client.multicall({ contracts, allowFailure: false })
  expect(answers).toEqual(Object.values(TOKENS).flatMap(({ symbol, decimals }) => [symbol, decimals]))
})

test('every feed answers its price in 8 decimals, as fresh as the block', async () => {
  const { timestamp } = await devnet.client.getBlock()
  for (const { feed: address, usd } of Object.values(TOKENS)) {
    const [, answer, , updatedAt] = await devnet.client.readContract({
      address,
      abi: FEED_ABI,
      functionName: 'latestRoundData',
    })
    expect(answer).toBe(BigInt(usd) * 10n ** 8n)
    expect(updatedAt).toBeGreaterThanOrEqual(timestamp)
    expect(await devnet.client.readContract({ address, abi: FEED_ABI, functionName: 'decimals' })).toBe(8)
  }
})

test('a feed can be set to another price and to an old one', async () => {
  const { client, addresses } = devnet
  const snapshot = await client.snapshot()
  const address = addresses.tokens.weth.feed
  await devnet.setFeed(address, { answer: -5n, updatedAtSec: 77n })
  const [, answer, , updatedAt] = await client.readContract({ address, abi: FEED_ABI, functionName: 'latestRoundData' })
  expect([answer, updatedAt]).toEqual([-5n, 77n])
  await client.revert({ id: snapshot })
})

test("pools stand where mainnet's formula puts them, at the very addresses of mainnet's pools", () => {
  for (const pool of Object.values(devnet.pools)) expect(pool.address).toBe(create2Address(devnet, pool))
  expect(devnet.pools.usdcWeth500.address).toBe('0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640')
  expect(devnet.pools.usdcWeth3000.address).toBe('0x8ad599c3A0ff1De082011EFDDc58f1908eb6e6D8')
  expect(devnet.pools.wbtcWeth3000.address).toBe('0xCBCdF9626bC03E24f779434178A73a0B4bad62eD')
  expect(devnet.pools.daiUsdc100.address).toBe('0x5777d92f208679DB4b9778590Fa3CAB3aC9e2168')
})

test('the pools cover every fee tier', () => {
  const fees = new Set(Object.values(devnet.pools).map(({ fee }) => fee))
  expect([...fees].sort((a, b) => a - b)).toEqual([100, 500, 3000, 10000])
})

test('tokenURI() draws a position through the linked descriptor', async () => {
  const { client, addresses, positions } = devnet
  const uri = await client.readContract({
    address: addresses.uniswapV3.manager,
    abi: MANAGER_ABI,
    functionName: 'tokenURI',
    args: [positions.inRange],
  })
  const json = JSON.parse(Buffer.from(uri.replace('data:application/json;base64,', ''), 'base64').toString())
  expect(json.name).toStartWith('Uniswap - 0.05% - USDC/ETH')
})

test('each wallet owns the positions of the scenario', async () => {
  const { v3, wallets, positions } = devnet
  expect(await v3.readTokenIds(wallets.empty)).toEqual([])
  expect(await v3.readTokenIds(wallets.single)).toEqual([positions.single])
  expect(await v3.readTokenIds(wallets.retired)).toEqual([positions.retired])
  expect(await v3.readTokenIds(wallets.receiver)).toEqual([positions.transferred])
  expect(await v3.readTokenIds(wallets.spammed)).toEqual([positions.good, positions.spam])
  const provider = await v3.readTokenIds(wallets.provider)
  expect(provider).toHaveLength(10)
  expect(provider).not.toContain(positions.burned)
  expect(provider).not.toContain(positions.transferred)
})

test('positions are on the side of the price given by their names', async () => {
  const sides = await Promise.all(
    (['inRange', 'fullRange', 'stable', 'halfWithdrawn', 'below', 'above', 'crossed'] as const).map((name) =>
      readSide(devnet, devnet.positions[name]),
    ),
  )
  expect(sides).toEqual(['in', 'in', 'in', 'in', 'below', 'above', expect.not.stringMatching('in')])
})

test('positions in range have earned fees in both tokens', async () => {
  const { v3, positions } = devnet
  const ids = [positions.inRange, positions.fullRange, positions.stable, positions.collectedOnce, positions.crossed]
  for (const { amount0, amount1 } of await v3.staticCollectMany(ids)) {
    expect(amount0).toBeGreaterThan(0n)
    expect(amount1).toBeGreaterThan(0n)
  }
})

test('closed positions are empty, the one not collected is still owed its principal', async () => {
  const { v3, positions } = devnet
  const [closed, retired, owed, half] = await v3.readPositions([
    ...[positions.closed, positions.retired, positions.closedOwed, positions.halfWithdrawn],
  ])
  for (const empty of [closed, retired]) {
    expect([empty?.liquidity, empty?.tokensOwed0, empty?.tokensOwed1]).toEqual([0n, 0n, 0n])
  }
  expect(owed?.liquidity).toBe(0n)
  expect(await v3.staticCollect(positions.closedOwed)).toEqual({
    amount0: owed?.tokensOwed0 ?? 0n,
    amount1: owed?.tokensOwed1 ?? 0n,
  })
  expect(owed?.tokensOwed0).toBeGreaterThan(10n ** 9n)
  expect(half?.liquidity).toBeGreaterThan(0n)
  expect(half?.tokensOwed0).toBeGreaterThan(10n ** 20n)
})

test('positions() of the burned id reverts', async () => {
  const { client, addresses, positions } = devnet
  const call = { address: addresses.uniswapV3.manager, abi: MANAGER_ABI, functionName: 'positions' } as const
  await expect(client.readContract({ ...call, args: [positions.burned] })).rejects.toThrow('Invalid token ID')
})

test('mintMany() gives a wallet 300 positions, in range and out of it on both sides', async () => {
  const wallet = toWalletAddress('three hundred')
  const ids = await devnet.mintMany(wallet, 300)
  expect(await devnet.v3.readTokenIds(wallet)).toEqual(ids)
  const sides = await Promise.all(ids.slice(0, 60).map((id) => readSide(devnet, id)))
  expect(new Set(sides)).toEqual(new Set(['in', 'below', 'above']))
}, 20_000)

test('staticDecrease() and staticCollect() return the real payouts of withdrawing and collecting', async () => {
  const { client, v3, wallets, positions } = devnet
  const snapshot = await client.snapshot()
  const tokenId = positions.inRange
  const [stored] = await v3.readPositions([tokenId])
  if (stored === undefined) throw new Error('Cannot read the position')
  const principal = await v3.staticDecrease(tokenId)
  const fees = await v3.staticCollect(tokenId)
  const before = await balances(devnet, stored, wallets.provider)
  await v3.decreaseLiquidity({ tokenId, owner: wallets.provider, liquidity: stored.liquidity })
  await v3.collect({ tokenId, owner: wallets.provider })
  const after = await balances(devnet, stored, wallets.provider)
  expect(after[0] - before[0]).toBe(principal.amount0 + fees.amount0)
  expect(after[1] - before[1]).toBe(principal.amount1 + fees.amount1)
  await client.revert({ id: snapshot })
})

const COUNT = caseCount(120, 60)

test('randomScenario() makes positions of every kind, the same ones for the same seed', async () => {
  const build = async () => {
    const fresh = await startDevnet()
    try {
      const scenario = await fresh.randomScenario(20_26, COUNT)
      const ids = scenario.positions.map(({ tokenId }) => tokenId)
      const stored = await fresh.v3.readPositions(ids)
      const fees = await fresh.v3.staticCollectMany(ids)
      return { stored, fees, burned: scenario.burned, blockNumber: scenario.blockNumber }
    } finally {
      await fresh.stop()
    }
  }
  const [one, other] = [await build(), await build()]
  expect(one).toEqual(other)
  expect(one.stored.length + one.burned.length).toBe(COUNT)
  expect(one.stored.filter(({ liquidity }) => liquidity === 0n).length).toBeGreaterThan(3)
  expect(one.stored.filter(({ liquidity, tokensOwed0 }) => liquidity === 0n && tokensOwed0 > 0n)).not.toBeEmpty()
  expect(one.fees.filter(({ amount0, amount1 }) => amount0 > 0n && amount1 > 0n).length).toBeGreaterThan(COUNT / 4)
  expect(one.burned).not.toBeEmpty()
}, 30_000)

test('hostile() holds one position in each odd token, every one of them withdrawable', async () => {
  const { wallet, positions } = await devnet.hostile()
  const all = Object.values(positions)
  expect(await devnet.v3.readTokenIds(wallet)).toEqual(all.map(({ tokenId }) => tokenId))
  const amounts = await devnet.v3.staticDecreaseMany(all.map(({ tokenId }) => tokenId))
  for (const { amount0, amount1 } of amounts) expect(amount0 * amount1).toBeGreaterThan(0n)
})

test('each odd token behaves as its name describes', async () => {
  const { positions } = await devnet.hostile()
  const ask = (kind: keyof typeof positions, selector: Hex, gas = '0x2faf080') =>
    devnet.rpc.call<Hex>('eth_call', { to: positions[kind].token, data: selector, gas }, 'latest')
  const [symbol, decimals]: [Hex, Hex] = ['0x95d89b41', '0x313ce567']
  const length = (data: Hex) => (data.length - 2) / 2
  expect(length(await ask('bytes32', symbol))).toBe(32)
  expect(Buffer.from((await ask('bytes32', symbol)).slice(2), 'hex').toString()).toStartWith('MKR\0')
  await expect(ask('bare', symbol)).rejects.toThrow()
  await expect(ask('reverting', symbol)).rejects.toThrow('No symbol for you')
  await expect(ask('gasBurner', symbol)).rejects.toThrow()
  expect(length(await ask('hugeSymbol', symbol))).toBe(64 + 2 ** 20)
  expect((await ask('lyingSymbol', symbol)).slice(66, 130)).toBe('f'.repeat(64))
  expect(BigInt(await ask('decimals0', decimals))).toBe(0n)
  expect(BigInt(await ask('decimals36', decimals))).toBe(36n)
  expect(BigInt(await ask('decimals255', decimals))).toBe(255n)
  expect(BigInt(await ask('wideDecimals', decimals))).toBe(2n ** 200n)
  expect(await ask('removed', symbol)).toBe('0x')
  expect(Buffer.from((await ask('bidi', symbol)).slice(130), 'hex').toString()).toStartWith('US\u200bDC')
})

async function readSide({ v3, client, addresses }: Devnet, tokenId: bigint): Promise<'below' | 'in' | 'above'> {
  const [stored] = await v3.readPositions([tokenId])
  if (stored === undefined) throw new Error(`Cannot read position ${tokenId}`)
  const pool = await client.readContract({
    address: addresses.uniswapV3.factory,
    functionName: 'getPool',
    abi: parseAbi(['function getPool(address, address, uint24) view returns (address)']),
    args: [stored.token0, stored.token1, stored.fee],
  })
  const { tick } = await v3.readSlot0(pool)
  if (tick < stored.tickLower) return 'below'
  return tick < stored.tickUpper ? 'in' : 'above'
}

async function balances(
  { client }: Devnet,
  { token0, token1 }: { readonly token0: Address; readonly token1: Address },
  owner: Address,
): Promise<[bigint, bigint]> {
  const read = (address: Address) =>
    client.readContract({ address, abi: TOKEN_ABI, functionName: 'balanceOf', args: [owner] })
  return [await read(token0), await read(token1)]
}

function create2Address({ addresses }: Devnet, { token0, token1, fee }: Pool): Address {
  const salt = keccak256(
    encodeAbiParameters([{ type: 'address' }, { type: 'address' }, { type: 'uint24' }], [token0, token1, fee]),
  )
  const from = addresses.uniswapV3.factory
  return getContractAddress({ opcode: 'CREATE2', from, salt, bytecodeHash: POOL_INIT_CODE_HASH })
}
