import { type Address, encodeAbiParameters, encodeFunctionData, type Hex, numberToHex, parseAbi, toHex } from 'viem'
import type { FinanceChain } from '../../../../../src/finance/chain.ts'
import type { PriceBlock } from '../../../../../src/finance/price/past/prices_at.ts'
import { deployAll, withAddresses } from '../../../../devnet/aave_v3/deploy.ts'
import { BANK } from '../../../../devnet/addresses.ts'
import { startAnvil } from '../../../../devnet/anvil.ts'
import { ownCreationCode, packageCreationCode } from '../../../../devnet/artifacts.ts'
import { BLOCK_AGE_SEC_MAX } from '../../../../devnet/chain.ts'
import { createRpc, type Rpc } from '../../../../devnet/rpc.ts'
import { createSend } from '../../../../devnet/transaction.ts'

const ABI = parseAbi([
  'function transmit(int256 answer)',
  'function confirmAggregator(address next)',
  'function setPriceOracle(address oracle)',
])
const AAVE = '@aave/core-v3/artifacts/contracts'
const ZERO: Address = '0x0000000000000000000000000000000000000000'

/** An Aave oracle: its sources and its base currency. */
export interface OracleTerms {
  readonly assets: readonly Address[]
  readonly sources: readonly Address[]
  /** @default {ZERO}, which is the US dollar */
  readonly base?: Address
  readonly unit?: bigint
}

/** Feeds and oracles on a chain of their own. */
export interface Feeds {
  readonly rpcUrl: string
  readonly rpc: Rpc
  aggregators(count: number, decimals?: number): Promise<Address[]>
  phased(first: Address): Promise<Address>
  transmit(aggregator: Address, answer: bigint): Promise<void>
  confirm(feed: Address, next: Address): Promise<void>
  oracle(terms: OracleTerms): Promise<Address>
  provider(): Promise<Address>
  setOracle(provider: Address, oracle: Address): Promise<void>
  /** Takes the time from a round, as if it had never finished. */
  unfinish(aggregator: Address, round: bigint): Promise<void>
  pass(seconds: number): Promise<void>
  /** The newest block. */
  moment(): Promise<PriceBlock>
  stop(): Promise<void>
}

/** Starts the chain. Every change is a block of its own. */
export async function startFeeds(): Promise<Feeds> {
  const anvil = await startAnvil()
  const rpc = createRpc(anvil.rpcUrl)
  const send = createSend(rpc)
  const calls = async (to: Address, data: Hex) => void (await send([{ from: BANK, to, data }]))
  const deploy = async (code: Hex): Promise<Address> => {
    const [address] = await deployAll(send, [code])
    if (address === undefined) throw new Error('Nothing was deployed')
    return address
  }
  const provider = async (): Promise<Address> => {
    const args = encodeAbiParameters([{ type: 'string' }, { type: 'address' }], ['a market', BANK])
    const path = `${AAVE}/protocol/configuration/PoolAddressesProvider.sol/PoolAddressesProvider.json`
    return await deploy(await packageCreationCode(path, { args }))
  }
  return {
    rpcUrl: anvil.rpcUrl,
    rpc,
    provider,
    aggregators: (count, decimals = 8) =>
      deployAll(
        send,
        Array.from({ length: count }, () => ownCreationCode('Aggregator', toHex(decimals, { size: 32 }))),
      ),
    phased: (first) => deploy(withAddresses(ownCreationCode('PhasedFeed'), first)),
    transmit: (to, answer) => calls(to, encodeFunctionData({ abi: ABI, functionName: 'transmit', args: [answer] })),
    confirm: (to, next) => calls(to, encodeFunctionData({ abi: ABI, functionName: 'confirmAggregator', args: [next] })),
    async oracle({ assets, sources, base = ZERO, unit = 10n ** 8n }) {
      const types = ['address', 'address[]', 'address[]', 'address', 'address', 'uint256'].map((type) => ({ type }))
      const args = encodeAbiParameters(types, [await provider(), assets, sources, ZERO, base, unit])
      return await deploy(await packageCreationCode(`${AAVE}/misc/AaveOracle.sol/AaveOracle.json`, { args }))
    },
    setOracle: (to, oracle) =>
      calls(to, encodeFunctionData({ abi: ABI, functionName: 'setPriceOracle', args: [oracle] })),
    async unfinish(aggregator, round) {
      // The rounds are the first thing that it stores: two words each.
      const first = 0x290decd9548b62a8d60345a988386fc84ba6bc95484008f6362f93160ef3e563n
      const slot = numberToHex(first + 2n * (round - 1n) + 1n, { size: 32 })
      await rpc.call('anvil_setStorageAt', aggregator, slot, numberToHex(0, { size: 32 }))
    },
    async pass(seconds) {
      await rpc.call('evm_increaseTime', seconds)
      await rpc.call('evm_mine')
    },
    async moment() {
      const block = await rpc.call<{ number: Hex; timestamp: Hex }>('eth_getBlockByNumber', 'latest', false)
      return { number: BigInt(block.number), timestampSec: BigInt(block.timestamp) }
    },
    stop: () => anvil.stop(),
  }
}

/** A chain over these endpoints. */
export function feedsChain(rpcUrls: readonly string[], prices: FinanceChain['prices']): FinanceChain {
  return {
    id: 1,
    name: 'Test',
    rpcUrls,
    reuseMs: 0,
    maxBlockAgeSec: BLOCK_AGE_SEC_MAX,
    finality: { depth: 0 },
    prices,
    tokens: { addresses: [], names: [], added: [] },
    spamTokens: [],
  }
}
