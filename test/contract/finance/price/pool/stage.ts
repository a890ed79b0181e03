import { type Address, encodeAbiParameters, encodeFunctionData, getAddress, type Hex, parseAbi, toHex } from 'viem'
import { BANK, type DevnetToken, TOKENS, UNISWAP_V3 } from '../../../../devnet/addresses.ts'
import { type Anvil, startAnvil } from '../../../../devnet/anvil.ts'
import { ownCreationCode } from '../../../../devnet/artifacts.ts'
import { createDevnetClient, type DevnetClient } from '../../../../devnet/client.ts'
import { placeContracts } from '../../../../devnet/contracts.ts'
import { placeContractsAt } from '../../../../devnet/place.ts'
import { createRpc, type Rpc } from '../../../../devnet/rpc.ts'
import { createSend, type Send, type Transaction } from '../../../../devnet/transaction.ts'

/** When every chain of these tests begins: no test depends on the machine's clock. */
export const GENESIS_SEC = 1_700_000_000
const PLENTY = 10n ** 40n
/** The bank's wrapped ether is of finite supply. */
const PLENTY_OF_ETHER = 10n ** 27n

const TRADER_ABI = parseAbi([
  'function mint(address pool, int24 lower, int24 upper, uint128 liquidity)',
  'function burn(address pool, int24 lower, int24 upper, uint128 liquidity)',
  'function swap(address pool, bool zeroForOne, int256 amount, uint160 limit)',
])
const TOKEN_ABI = parseAbi([
  'function mint(address to, uint256 value)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function balanceOf(address) view returns (uint256)',
])
const FACTORY_ABI = parseAbi([
  'function createPool(address a, address b, uint24 fee) returns (address)',
  'function getPool(address a, address b, uint24 fee) view returns (address)',
])
export const POOL_ABI = parseAbi([
  'function initialize(uint160 sqrtPriceX96)',
  'function increaseObservationCardinalityNext(uint16 next)',
  'function slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16 index, uint16 cardinality, uint16 next, uint8 feeProtocol, bool unlocked)',
  'function liquidity() view returns (uint128)',
  'function observe(uint32[] secondsAgos) view returns (int56[] tickSums, uint160[] inverseSums)',
  'function ticks(int24 tick) view returns (uint128 gross, int128 net, uint256, uint256, int56, uint160, uint32, bool initialized)',
])

export const SPACINGS: Readonly<Record<number, number>> = { 100: 1, 500: 10, 3000: 60, 10000: 200 }
export type QuoteToken = Pick<DevnetToken, 'address' | 'decimals' | 'usd'>
export type Side = 'token0' | 'token1'

/** A chain with the real contracts of Uniswap V3, whose time moves only as told. */
export interface Stage {
  readonly rpcUrl: string
  readonly rpc: Rpc
  readonly send: Send
  readonly client: DevnetClient
  /** Blocks pass, `everySec` seconds each. */
  mine(blocks: number, everySec: number): Promise<void>
  newToken(side: Side, options?: { readonly decimals?: number; readonly taxBps?: number }): Promise<Address>
  newTrader(tokens: readonly Address[]): Promise<Address>
}

/** A stage of its own. */
export async function startStage(): Promise<Stage & { readonly anvil: Anvil }> {
  const anvil = await startAnvil({ timestampSec: GENESIS_SEC, hardfork: 'cancun' })
  const rpc = createRpc(anvil.rpcUrl)
  const send = createSend(rpc)
  const client = createDevnetClient({ rpcUrl: anvil.rpcUrl, chainId: 1 })
  // Time stands still between these blocks, too.
  await rpc.call('anvil_setBlockTimestampInterval', 1)
  await placeContracts({ rpc, send })
  return { ...(await createStage({ rpcUrl: anvil.rpcUrl, rpc, send, client })), anvil }
}

/** A stage over a chain on which Uniswap V3 stands. */
export async function createStage({
  rpcUrl,
  rpc,
  send,
  client,
}: Pick<Stage, 'rpcUrl' | 'rpc' | 'send' | 'client'>): Promise<Stage> {
  // Every block that a transaction makes is one second after the one before.
  await rpc.call('anvil_setBlockTimestampInterval', 1)
  let count = 0n
  return {
    rpcUrl,
    rpc,
    send,
    client,
    async mine(blocks, everySec) {
      if (blocks <= 0) return
      await rpc.call('anvil_setBlockTimestampInterval', everySec)
      await rpc.call('anvil_mine', toHex(blocks))
      await rpc.call('anvil_setBlockTimestampInterval', 1)
    },
    async newToken(side, { decimals = 18, taxBps } = {}) {
      // Below or above every quote token's address.
      const address = toAddress((side === 'token0' ? 0x1000n << 100n : 0xffff0000n << 128n) + ++count)
      const parameters = [{ type: 'string' }, { type: 'string' }, { type: 'uint8' }] as const
      const creationCode =
        taxBps === undefined
          ? ownCreationCode('Token', encodeAbiParameters(parameters, ['Priced', 'PRICED', decimals]))
          : ownCreationCode('TaxedToken', encodeAbiParameters([{ type: 'uint256' }], [BigInt(taxBps)]))
      await placeContractsAt({ rpc, send }, { placements: [{ address, creationCode }], owner: BANK })
      return address
    },
    async newTrader(tokens) {
      const [receipt] = await send([{ from: BANK, data: ownCreationCode('PoolTrader') }])
      const trader = getAddress(receipt?.contractAddress ?? '0x')
      await send(
        [...tokens, ...Object.values(TOKENS).map(({ address }) => address)].map((token) => fund(token, trader)),
      )
      return trader
    },
  }
}

function fund(token: Address, to: Address): Transaction {
  const isEther = token === TOKENS.weth.address
  const [functionName, value] = isEther ? (['transfer', PLENTY_OF_ETHER] as const) : (['mint', PLENTY] as const)
  return { from: BANK, to: token, data: encodeFunctionData({ abi: TOKEN_ABI, functionName, args: [to, value] }) }
}

function toAddress(value: bigint): Address {
  return getAddress(toHex(value, { size: 20 }))
}

/** A pool of a world's token. */
export interface StagedPool {
  readonly address: Address
  readonly quote: QuoteToken
  readonly fee: number
  readonly spacing: number
}

/** Liquidity between two ticks of the token's price. */
export interface Placed {
  readonly pool: StagedPool
  readonly trader: Address
  readonly args: readonly [Address, number, number, bigint]
}

const LOG = Math.log(1.0001)
const EDGE = 887_272

/** A token with its pools, an honest trader, an attacker and an arbitrageur. All ticks rise with the token's price. */
export class World {
  readonly pools: StagedPool[] = []
  usd = 2

  readonly stage: Stage
  readonly token: Address
  readonly side: Side
  readonly honest: Address
  readonly attacker: Address
  readonly arbitrageur: Address

  private constructor(stage: Stage, side: Side, addresses: readonly [Address, Address, Address, Address]) {
    this.stage = stage
    this.side = side
    ;[this.token, this.honest, this.attacker, this.arbitrageur] = addresses
  }

  static async create(stage: Stage, side: Side, taxBps?: number): Promise<World> {
    const token = await stage.newToken(side, taxBps === undefined ? {} : { taxBps })
    const traders = [await stage.newTrader([token]), await stage.newTrader([token]), await stage.newTrader([token])]
    const [honest = token, attacker = token, arbitrageur = token] = traders
    return new World(stage, side, [token, honest, attacker, arbitrageur])
  }

  /** The tick at which a whole token costs so many dollars. */
  tick(usd: number, { usd: quoteUsd, decimals }: QuoteToken): number {
    return Math.floor(Math.log((usd / quoteUsd) * 10 ** (decimals - 18)) / LOG)
  }

  async pool(quote: QuoteToken, fee: number, usd: number, observations = 1): Promise<StagedPool> {
    const { send, client } = this.stage
    const key = [this.token, quote.address, fee] as const
    const create = encodeFunctionData({ abi: FACTORY_ABI, functionName: 'createPool', args: key })
    await send([{ from: BANK, to: UNISWAP_V3.factory, data: create }])
    const asked = { address: UNISWAP_V3.factory, abi: FACTORY_ABI, functionName: 'getPool', args: key } as const
    const address = await client.readContract(asked)
    const root = this.root(this.tick(usd, quote))
    const initialize = encodeFunctionData({ abi: POOL_ABI, functionName: 'initialize', args: [root] })
    const functionName = 'increaseObservationCardinalityNext'
    const grow = encodeFunctionData({ abi: POOL_ABI, functionName, args: [observations] })
    await send([
      { from: BANK, to: address, data: initialize },
      ...(observations > 1 ? [{ from: BANK, to: address, data: grow }] : []),
    ])
    const pool = { address, quote, fee, spacing: SPACINGS[fee] ?? 0 }
    this.pools.push(pool)
    return pool
  }

  /** Liquidity between two ticks, so much that its bids are worth these dollars; its asks if it has no bids. */
  async add(trader: Address, pool: StagedPool, low: number, high: number, dollars: number): Promise<Placed> {
    const { spacing, quote, address } = pool
    const limit = Math.floor(EDGE / spacing) * spacing
    const snap = (tick: number) => Math.max(-limit, Math.min(limit, Math.floor(tick / spacing) * spacing))
    const [from, to] = [snap(low), snap(high)]
    const spot = await this.spotTick(pool)
    const raw = (dollars / quote.usd) * 10 ** quote.decimals
    const top = Math.min(spot, to)
    const liquidity = raw / (top > from ? root(top) - root(from) : root(to) - root(from))
    const [lower, upper] = this.side === 'token0' ? [from, to] : [-to, -from]
    const args = [address, lower, upper, BigInt(Math.floor(liquidity))] as const
    await this.act(trader, encodeFunctionData({ abi: TRADER_ABI, functionName: 'mint', args }))
    return { pool, trader, args }
  }

  full(trader: Address, pool: StagedPool, dollars: number): Promise<Placed> {
    return this.add(trader, pool, -EDGE, EDGE, dollars)
  }

  async take({ trader, args }: Placed): Promise<void> {
    await this.act(trader, encodeFunctionData({ abi: TRADER_ABI, functionName: 'burn', args }))
  }

  /** Swaps until a token costs so many dollars; `tick` for a price that no whole tick has. */
  async push(trader: Address, pool: StagedPool, usd: number): Promise<void> {
    const { usd: quoteUsd, decimals } = pool.quote
    const wanted = Math.log((usd / quoteUsd) * 10 ** (decimals - 18)) / LOG
    const spot = await this.spotTick(pool)
    if (Math.abs(wanted - spot) < 1e-6) return
    await this.swapTo(trader, pool, { root: this.root(wanted), isRise: wanted > spot })
  }

  async swapTo(trader: Address, pool: StagedPool, to: { readonly root: bigint; readonly isRise: boolean }) {
    const zeroForOne = to.isRise !== (this.side === 'token0')
    const args = [pool.address, zeroForOne, 10n ** 36n, to.root] as const
    await this.act(trader, encodeFunctionData({ abi: TRADER_ABI, functionName: 'swap', args }))
  }

  /** An arbitrageur trades if it pays more than these dollars. */
  async arbitrage(pool: StagedPool, gasUsd = 0): Promise<void> {
    const [spot, rate] = [await this.spotUsd(pool), pool.fee / 1e6]
    const [high, low] = [this.usd / (1 - rate), this.usd * (1 - rate)]
    const to = spot > high ? high : spot < low ? low : undefined
    if (to === undefined) return
    const snapshot = await this.stage.rpc.call('evm_snapshot')
    const before = await this.worth(this.arbitrageur)
    await this.push(this.arbitrageur, pool, to)
    if ((await this.worth(this.arbitrageur)) - before < gasUsd) await this.stage.rpc.call('evm_revert', snapshot)
  }

  /** Dollars that a trader has more than at the start, the token at its right price. */
  async worth(trader: Address): Promise<number> {
    const quotes = [TOKENS.usdc, TOKENS.weth, TOKENS.dai].map((each) => ({
      ...each,
      start: each === TOKENS.weth ? PLENTY_OF_ETHER : PLENTY,
    }))
    const tokens = [...quotes, { address: this.token, decimals: 18, usd: this.usd, start: PLENTY }]
    const { client } = this.stage
    const asked = { abi: TOKEN_ABI, functionName: 'balanceOf', args: [trader] } as const
    const balances = await Promise.all(tokens.map(({ address }) => client.readContract({ ...asked, address })))
    return tokens.reduce(
      (sum, { decimals, usd, start }, index) => sum + (Number((balances[index] ?? 0n) - start) / 10 ** decimals) * usd,
      0,
    )
  }

  async spotTick({ address }: StagedPool): Promise<number> {
    const asked = { address, abi: POOL_ABI, functionName: 'slot0' } as const
    const [sqrtPriceX96] = await this.stage.client.readContract(asked)
    const tick = (2 * Math.log(Number(sqrtPriceX96) / 2 ** 96)) / LOG
    return this.side === 'token0' ? tick : -tick
  }

  async spotUsd(pool: StagedPool): Promise<number> {
    return 1.0001 ** (await this.spotTick(pool)) * 10 ** (18 - pool.quote.decimals) * pool.quote.usd
  }

  /** The pool's square root of its own price, Q96, at a tick of the token's price. */
  root(tick: number): bigint {
    return toRootX96(this.side === 'token0' ? tick : -tick)
  }

  private async act(trader: Address, data: Hex): Promise<void> {
    await this.stage.send([{ from: BANK, to: trader, data }])
  }
}

function root(tick: number): number {
  return 1.0001 ** (tick / 2)
}

/** A square root in Q96 from a double, within what pools allow. */
function toRootX96(tick: number): bigint {
  const value = 1.0001 ** (tick / 2)
  const exponent = Math.floor(Math.log2(value))
  const mantissa = BigInt(Math.floor((value / 2 ** exponent) * 2 ** 52))
  const shift = 96 + exponent - 52
  const x96 = shift >= 0 ? mantissa << BigInt(shift) : mantissa >> BigInt(-shift)
  const [min, max] = [4_295_128_740n, 1_461_446_703_485_210_103_287_273_052_203_988_822_378_723_970_341n]
  return x96 < min ? min : x96 > max ? max : x96
}
