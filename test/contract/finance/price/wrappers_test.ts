import { beforeAll, expect, test } from 'bun:test'
import { type Address, encodeFunctionData, type Hex, parseAbi, zeroAddress } from 'viem'
import { LENS_MODES } from '../../../../src/chain/call/lens.ts'
import type { ChainPrices, FinanceClient } from '../../../../src/finance/chain.ts'
import { BANK, TOKENS, toWalletAddress } from '../../../devnet/addresses.ts'
import { type Devnet, sharedDevnet } from '../../../devnet/mod.ts'
import { createClient, createCode, deploy, listedChain, mintCall, read } from '../token/balance/world.ts'

const { usdc, weth } = TOKENS
const WALLET = toWalletAddress('wrappers')
const UNIT = 10n ** 18n
const ABI = parseAbi([
  'function setMood(uint256 mood)',
  'function lend(address to, uint256 value)',
  'function convertToAssets(uint256 shares) view returns (uint256)',
])

let devnet: Devnet
/** Of USDC, of ether by both other ways, of the first one, of that again, and one that no table names. */
let [vault, staked, rated, nested, deep, liar]: Address[] = []

beforeAll(async () => {
  devnet = await sharedDevnet()
  ;[vault, staked, rated, liar] = await deploy(devnet, [
    createCode('Vault', usdc.address, 18),
    createCode('Vault', weth.address, 18),
    createCode('Vault', weth.address, 18),
    createCode('Vault', usdc.address, 18),
  ])
  ;[nested] = await deploy(devnet, [createCode('Vault', at(vault), 18)])
  ;[deep] = await deploy(devnet, [createCode('Vault', at(nested), 18)])
  await devnet.send([
    ...[vault, staked, rated, nested, deep, liar].map((each) => mintCall(at(each), WALLET, 2n * UNIT)),
    ...[vault, liar].map((each) => mintCall(usdc.address, at(each), 3_000_001n)),
    ...[staked, rated].map((each) => transferCall(weth.address, at(each), (5n * UNIT) / 2n)),
    // Of its own shares, the first vault gives half to the second, and that to the third.
    mintCall(at(vault), at(nested), UNIT),
    mintCall(at(nested), at(deep), UNIT),
  ])
  await devnet.rpc.call('anvil_setBalance', WALLET, '0xde0b6b3a7640000')
}, 60_000)

function at(address: Address | undefined): Address {
  if (address === undefined) throw new Error('It is not deployed')
  return address
}

function transferCall(token: Address, to: Address, value: bigint) {
  const abi = parseAbi(['function transfer(address to, uint256 value)'])
  return { from: BANK, to: token, data: encodeFunctionData({ abi, functionName: 'transfer', args: [to, value] }) }
}

function clientWith(prices: Partial<ChainPrices> = {}): FinanceClient {
  const tokens = [usdc.address, ...[vault, staked, rated, nested, deep, liar].map(at)]
  const chain = listedChain(devnet, tokens)
  const wrappers: ChainPrices['wrappers'] = {
    [at(vault)]: { kind: 'erc4626', of: usdc.address },
    [at(staked)]: { kind: 'stETHPerToken', of: weth.address },
    [at(rated)]: { kind: 'exchangeRate', of: weth.address },
    [at(nested)]: { kind: 'erc4626', of: at(vault) },
    [at(deep)]: { kind: 'erc4626', of: at(nested) },
  }
  return createClient({ ...chain, prices: { ...chain.prices, wrappers, ...prices } })
}

/** Prices by token; the reason if one is missing. */
async function readPrices(client: FinanceClient, way: (typeof LENS_MODES)[number] = 'override') {
  const { rows } = await read(client, { wallet: WALLET, way })
  return new Map(
    rows.map(({ token, price }) => [
      token.address,
      price.kind === 'price'
        ? `${Number(price.price.units) / 10 ** price.price.scale} ${price.price.source}`
        : price.because,
    ]),
  )
}

async function readRate(token: Address): Promise<number> {
  const data = encodeFunctionData({ abi: ABI, functionName: 'convertToAssets', args: [UNIT] })
  return Number(await devnet.rpc.call<Hex>('eth_call', { to: token, data }, 'latest'))
}

async function setMood(token: Address, mood: number): Promise<void> {
  const data = encodeFunctionData({ abi: ABI, functionName: 'setMood', args: [BigInt(mood)] })
  await devnet.send([{ from: BANK, to: token, data }])
}

test.each(LENS_MODES)('wrappers of the table are priced by their contract, two deep, by %s', async (way) => {
  const prices = await readPrices(clientWith(), way)
  // 3,000,001 units of six decimals in three shares: all digits count, and not seven of them alone.
  const toNumber = (token: Address) => Number(prices.get(token)?.replace(/ wrapper$/, ''))
  expect(toNumber(at(vault))).toBeCloseTo(1.000_000_333_333_333, 13)
  expect(toNumber(at(nested))).toBeCloseTo(((await readRate(at(nested))) / 1e18) * 1.000_000_333_333_333, 13)
  expect(prices.get(at(staked))).toBe('3750 wrapper')
  expect(prices.get(at(rated))).toBe('3750 wrapper')
  expect(prices.get(zeroAddress)).toBe('3000 wrapper')
  // The configuration refuses three of them; the lens opens no more than two.
  expect(prices.get(at(deep))).toBe('no source of its price is configured')
})

test('a vault outside the table has no price, whatever it returns', async () => {
  await setMood(at(liar), 1)
  const prices = await readPrices(clientWith())
  expect(prices.get(at(liar))).toBe('no source of its price is configured')
  // After lending to its owner without collateral, it still reports all assets.
  const lend = encodeFunctionData({ abi: ABI, functionName: 'lend', args: [WALLET, 3_000_000n] })
  await devnet.send([{ from: BANK, to: at(liar), data: lend }])
  expect(await readRate(at(liar))).toBeGreaterThan(1e9)
  expect((await readPrices(clientWith())).get(at(liar))).toBe('no source of its price is configured')
})

test.each([
  [2, 'reverts', 'its wrapper does not tell its rate'],
  [3, 'burns all gas', 'its wrapper does not tell its rate'],
  [4, 'answers half a word', 'its wrapper does not tell its rate'],
  [6, 'says that it holds nothing', 'its wrapper says that it holds nothing'],
] as const)('a wrapper with mood %i (it %s) has no price, and the others have theirs', async (mood, _, because) => {
  const before = await readPrices(clientWith())
  await setMood(at(staked), mood)
  const after = await readPrices(clientWith())
  await setMood(at(staked), 0)
  expect(after).toEqual(new Map([...before, [at(staked), because]]))
})

test('a vault may ask thirty markets before it tells its rate', async () => {
  const before = await readPrices(clientWith())
  await setMood(at(vault), 7)
  const after = await readPrices(clientWith())
  await setMood(at(vault), 0)
  expect(after).toEqual(before)
})

test('a wrapper answers a mebibyte: its first word counts, and nothing breaks', async () => {
  await setMood(at(staked), 5)
  const after = await readPrices(clientWith())
  await setMood(at(staked), 0)
  expect(after.get(at(vault))).toContain('wrapper')
  expect(after.size).toBe(8)
})

test('a wrapper around an unpriced token has no price, and no stablecoin replaces it', async () => {
  const { timestamp } = await devnet.client.getBlock()
  await devnet.setFeed(usdc.feed, { answer: 100_000_000n, updatedAtSec: timestamp - 100_000n })
  const prices = await readPrices(clientWith({ stablecoins: [usdc.address, at(vault)] }))
  await devnet.setFeed(usdc.feed, { answer: 100_000_000n })
  for (const token of [usdc.address, at(vault), at(nested)]) expect(prices.get(token)).toBe('its price feed is stale')
  expect(prices.get(at(staked))).toBe('3750 wrapper')
})
