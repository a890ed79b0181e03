import {
  type Address,
  encodeAbiParameters,
  encodeFunctionData,
  getAddress,
  type Hex,
  parseAbi,
  zeroAddress,
} from 'viem'
import type { VaultEntry } from '../../../src/family/vaults/table.ts'
import { BANK } from '../addresses.ts'
import { MORPHO, type MorphoMarket } from '../morpho_blue/calls.ts'
import type { Send, Transaction } from '../transaction.ts'
import { vaultContracts } from './compile.ts'

const ABI = parseAbi([
  'function add(address code)',
  'function approve(address spender, uint256 value)',
  'function deposit(uint256 assets, address receiver)',
  'function withdraw(uint256 assets, address receiver, address owner)',
  'function liquidityAdapter() view returns (address)',
])
const encode = (functionName: (typeof ABI)[number]['name'], ...args: readonly unknown[]): Hex =>
  encodeFunctionData({ abi: ABI, functionName, args } as never)

const MARKET_PARAMS = {
  type: 'tuple',
  components: [
    ...['loanToken', 'collateralToken', 'oracle', 'irm'].map((name) => ({ name, type: 'address' })),
    { name: 'lltv', type: 'uint256' },
  ],
} as const
const NO_MARKET = {
  loanToken: zeroAddress,
  collateralToken: zeroAddress,
  oracle: zeroAddress,
  irm: zeroAddress,
  lltv: 0n,
}

/** Vaults that lend to markets of the real Morpho Blue. */
export interface MorphoVaults {
  /** They, and the registry that knows them. */
  readonly entries: readonly VaultEntry[]
  /** In the manner of MetaMorpho: lends equal parts to the markets, and takes out in their order. */
  addQueue(markets: readonly MorphoMarket[]): Promise<Address>
  /** In the manner of Morpho Vault V2: holds a half, and lends a half to the market or through the vault. */
  addAdapter(target: MorphoMarket | Address): Promise<Address>
}

/** Puts the registry of such vaults on a chain. */
export async function startMorphoVaults(
  {
    rpc,
    send,
  }: { readonly rpc: { call<T>(method: string, ...params: readonly unknown[]): Promise<T> }; readonly send: Send },
  asset: Address,
): Promise<MorphoVaults> {
  const codes = await vaultContracts()
  const create = async (data: Hex): Promise<Address> => {
    const [receipt] = await send([{ from: BANK, data }])
    return getAddress(receipt?.contractAddress ?? zeroAddress)
  }
  const registry = await create(codes.MorphoRegistry)
  const v2 = await create(codes.MorphoRegistry)
  const entries: VaultEntry[] = [
    { address: registry, kind: 'metamorpho_factory' },
    { address: v2, kind: 'morpho_vault_v2_factory' },
    { address: v2, kind: 'morpho_adapter_registry' },
  ]
  const add = async (code: Hex, known: Address): Promise<Address> => {
    const vault = await create(code)
    await send([{ from: BANK, to: known, data: encode('add', vault) }])
    entries.push({ address: vault, kind: 'erc4626' })
    return vault
  }
  const argue = (types: readonly unknown[], values: readonly unknown[]) =>
    encodeAbiParameters(types as never, values as never).slice(2)
  return {
    entries,
    addQueue: (markets) => {
      const types = [{ type: 'address' }, { type: 'address' }, { ...MARKET_PARAMS, type: 'tuple[]' }]
      const args = argue(types, [asset, MORPHO, markets.map(({ params }) => params)])
      return add(`${codes.QueueVault}${args}`, registry)
    },
    addAdapter: async (target) => {
      const types = [{ type: 'address' }, { type: 'address' }, { type: 'address' }, MARKET_PARAMS]
      const [inner, params] = typeof target === 'string' ? [target, NO_MARKET] : [zeroAddress, target.params]
      const vault = await add(`${codes.AdapterVault}${argue(types, [asset, MORPHO, inner, params])}`, v2)
      const adapter = await rpc.call<Hex>('eth_call', { to: vault, data: encode('liquidityAdapter') }, 'latest')
      await send([{ from: BANK, to: v2, data: encode('add', `0x${adapter.slice(26)}`) }])
      return vault
    },
  }
}

/** Deposits what a wallet has of an asset in a vault. */
export function depositCalls(vault: Address, { asset, wallet, assets }: Deposit): readonly Transaction[] {
  return [
    { from: wallet, to: asset, data: encode('approve', vault, assets) },
    { from: wallet, to: vault, data: encode('deposit', assets, wallet) },
  ]
}

interface Deposit {
  readonly asset: Address
  readonly wallet: Address
  readonly assets: bigint
}

/** Withdraws assets of a wallet from a vault. */
export function withdrawCall(vault: Address, { wallet, assets }: Omit<Deposit, 'asset'>): Transaction {
  return { from: wallet, to: vault, data: encode('withdraw', assets, wallet, wallet) }
}
