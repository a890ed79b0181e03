import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, encodeAbiParameters, encodeFunctionData, type Hex, parseAbi, zeroAddress } from 'viem'
import { executeUnits } from '../../../../src/chain/call/exit/execute.ts'
import { readLatestBlock } from '../../../../src/chain/evm/read_block.ts'
import { createHoldingsReader } from '../../../../src/family/uniswap_v2/holdings.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { BANK, toWalletAddress } from '../../../devnet/addresses.ts'
import { packageCreationCode } from '../../../devnet/artifacts.ts'
import { createSend, type Send } from '../../../devnet/transaction.ts'
import { vaultContracts } from '../../../devnet/vaults/compile.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { type ReplayedChain, startReplayedChain } from '../vaults/support.ts'

const LIMIT_MS = 120_000
const MINUTE_MS = 60_000
const patient = createWork(new AbortController().signal)
const ABI = parseAbi([
  'function createPair(address a, address b) returns (address)',
  'function getPair(address a, address b) view returns (address)',
  'function setFeeTo(address to)',
  'function mint(address account, uint256 amount)',
  'function mint(address to) returns (uint256)',
  'function transfer(address to, uint256 amount) returns (bool)',
  'function swap(uint256 amount0Out, uint256 amount1Out, address to, bytes data)',
  'function token0() view returns (address)',
])
const encode = (functionName: (typeof ABI)[number]['name'], ...args: readonly unknown[]): Hex =>
  encodeFunctionData({ abi: ABI, functionName, args } as never)
const WALLETS = ['first', 'second', 'third'].map((name) => toWalletAddress(`${name} pool owner`)) as [
  Address,
  Address,
  Address,
]
const UNIT = 10n ** 18n

let chain: ReplayedChain
let send: Send
let factory: Address
let tokens: [Address, Address]
let pair: Address

beforeAll(async () => {
  chain = await startReplayedChain()
  send = createSend(chain.rpc)
  const { ERC20Mock } = await vaultContracts()
  const create = async (data: Hex) => {
    const [receipt] = await send([{ from: BANK, data }])
    return receipt?.contractAddress as Address
  }
  const args = encodeAbiParameters([{ type: 'address' }], [BANK])
  factory = await create(await packageCreationCode('@uniswap/v2-core/build/UniswapV2Factory.json', { args }))
  tokens = [await create(ERC20Mock), await create(ERC20Mock)]
  await send([{ from: BANK, to: factory, data: encode('createPair', ...tokens) }])
  pair = await ask(factory, 'getPair', ...tokens)
  for (const [index, wallet] of WALLETS.entries()) {
    await pay(pair, [UNIT * BigInt(index + 1) + 7n, 3n * UNIT * BigInt(index + 1)])
    await send([{ from: BANK, to: pair, data: encode('mint', wallet) }])
  }
}, LIMIT_MS)
afterAll(() => chain?.anvil.stop(), LIMIT_MS)

async function ask(to: Address, name: 'getPair' | 'token0', ...args: readonly Address[]): Promise<Address> {
  const answer = await chain.rpc.call<Hex>('eth_call', { to, data: encode(name, ...args) }, 'latest')
  return `0x${answer.slice(-40)}`
}

/** Mints tokens to an address. */
function pay(to: Address, amounts: readonly [bigint, bigint]) {
  return send(tokens.map((token, index) => ({ from: BANK, to: token, data: encode('mint', to, amounts[index]) })))
}

/** Pays one token in and takes the other out, less than the invariant would give. */
async function swap(amount: bigint) {
  const isFirst = (await ask(pair, 'token0')).toLowerCase() === tokens[0].toLowerCase()
  await pay(pair, [amount, 0n])
  const out = amount / 2n
  await send([{ from: BANK, to: pair, data: encode('swap', isFirst ? 0n : out, isFirst ? out : 0n, BANK, '0x') }])
}

async function readHoldings(wallet: Address, named: readonly Address[], listed = [factory]) {
  const deployments = new Map([[1, listed.map((each) => ({ factory: each, startBlock: 0 }))]])
  const parts = { clients: new Map([[1, chain.client]]), deployments, clock: slowClock }
  const read = await createHoldingsReader(parts).open(wallet, { client: chain.client, named }, patient)
  if (read === undefined) return undefined
  return await chain.client.read((endpoint, work) => read({ endpoint, positionsMax: 100 }, work), { work: patient })
}

/** What each row says, and what arrives by the exit. */
async function leave(wallet: Address) {
  const holdings = await readHoldings(wallet, [pair])
  const units = holdings?.listExits?.() ?? []
  const { units: outcomes } = await chain.client.read(
    async (endpoint, work) => {
      const block = await readLatestBlock(endpoint, 1, work)
      const untilMs = slowClock.monotonicMs() + MINUTE_MS
      return await executeUnits(endpoint, { wallet, units, lenders: [], block, clock: slowClock, untilMs }, work)
    },
    { work: patient },
  )
  const [outcome] = outcomes
  const [step] = outcome?.kind === 'run' ? outcome.steps : []
  return {
    told: (holdings?.rows ?? []).map(({ amount }) => amount),
    arrived: step?.kind === 'done' ? step.deltas : [],
    isRefused: (holdings?.rows ?? []).some(({ refused }) => refused !== undefined),
    exits: units.length,
  }
}

test(
  'what a burn pays is what the rows say, to the unit: with swaps, donations and the factory’s fee',
  async () => {
    const compare = async () => {
      for (const wallet of WALLETS) {
        const { told, arrived, exits } = await leave(wallet)
        expect([exits, arrived]).toEqual([1, told])
        expect(told.every((amount) => amount > 0n)).toBe(true)
      }
    }
    await compare()
    // Donations are paid, although they are in no reserve.
    await pay(pair, [12_345n, 777n])
    await swap(UNIT / 3n)
    await pay(pair, [54_321n, 1n])
    await compare()
    await send([{ from: BANK, to: factory, data: encode('setFeeTo', BANK) }])
    await pay(pair, [UNIT, UNIT])
    await send([{ from: BANK, to: pair, data: encode('mint', WALLETS[0]) }])
    for (let round = 0; round < 5; round++) {
      await swap(UNIT / 7n + BigInt(round))
      await compare()
    }
    // Without a fee again nothing is minted, whatever kLast is.
    await send([{ from: BANK, to: factory, data: encode('setFeeTo', zeroAddress) }])
    await compare()
  },
  LIMIT_MS,
)

test(
  'what is worth nothing of a token is refused, as the pair refuses to burn it',
  async () => {
    const dust = toWalletAddress('dust owner')
    await send([{ from: WALLETS[0], to: pair, data: encode('transfer', dust, 1n) }])
    // Less than a unit of one token, some of the other.
    const { told, arrived, isRefused } = await leave(dust)
    expect([told.length, isRefused, arrived]).toEqual([1, true, []])
  },
  LIMIT_MS,
)

test(
  'only pairs of factories of the list are read, and only if they are named',
  async () => {
    const [wallet] = WALLETS
    expect(await readHoldings(wallet, [])).toBeUndefined()
    const named = [...tokens, BANK, pair, factory]
    const holdings = await readHoldings(wallet, named)
    expect(holdings?.rows.map(({ position }) => position['pair'])).toEqual([pair, pair])
    expect(holdings?.ownTokens).toEqual([pair])
    expect((await readHoldings(wallet, named, [toWalletAddress('other factory')]))?.rows).toEqual([])
    expect((await readHoldings(toWalletAddress('stranger'), named))?.rows).toEqual([])
  },
  LIMIT_MS,
)
