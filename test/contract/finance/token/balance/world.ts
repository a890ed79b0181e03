import {
  type Address,
  concatHex,
  encodeFunctionData,
  getAddress,
  type Hex,
  keccak256,
  numberToHex,
  pad,
  parseAbi,
  toHex,
} from 'viem'
import type { PinnedBlock } from '../../../../../src/chain/block.ts'
import type { LensMode } from '../../../../../src/chain/call/lens.ts'
import { createChainClient } from '../../../../../src/chain/evm/evm_client.ts'
import { readBlock } from '../../../../../src/chain/evm/read_block.ts'
import type { FinanceChain, FinanceClient } from '../../../../../src/finance/chain.ts'
import { type Balances, readBalances } from '../../../../../src/finance/token/balance/read_balances.ts'
import { createSpamFilter } from '../../../../../src/finance/token/spam.ts'
import { createWork, type Work } from '../../../../../src/lib/async/work.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { BANK } from '../../../../devnet/addresses.ts'
import { type OwnContract, ownCreationCode } from '../../../../devnet/artifacts.ts'
import { createDevnetChain } from '../../../../devnet/chain.ts'
import type { Devnet } from '../../../../devnet/mod.ts'
import { withLensMode } from '../../../../support/lens_mode.ts'
import { createHurriedClock, slowClock } from '../../../../support/test_clock.ts'

const ABI = parseAbi([
  'function mint(address to, uint256 value)',
  'function transfer(address to, uint256 value)',
  'function balanceOf(address account) view returns (uint256)',
])

export const patient: Work = createWork(new AbortController().signal)

export function createClient(chain: FinanceChain): FinanceClient {
  return createChainClient({ chain, clock: createHurriedClock(), log: silentLog })
}

/** A wallet without a known key. */
export function walletAt(index: number): Address {
  return getAddress(`0x${keccak256(toHex(`balance wallet ${index}`)).slice(-40)}`)
}

/** Creation code of a contract of ours with words behind it. */
export function createCode(name: OwnContract, ...words: readonly (Hex | number)[]): Hex {
  return ownCreationCode(
    name,
    concatHex(words.map((word) => pad(typeof word === 'number' ? numberToHex(word) : word, { size: 32 }))),
  )
}

/** Deploys contracts; addresses in their order. */
export async function deploy(devnet: Devnet, codes: readonly Hex[]): Promise<Address[]> {
  const receipts = await devnet.send(codes.map((data) => ({ from: BANK, data })))
  return receipts.map(({ contractAddress }) => {
    if (contractAddress === null) throw new Error('Cannot deploy a token')
    return getAddress(contractAddress)
  })
}

export function mintCall(token: Address, to: Address, value: bigint) {
  return { from: BANK, to: token, data: encodeFunctionData({ abi: ABI, functionName: 'mint', args: [to, value] }) }
}

export function transferCall(token: Address, { from, to, value }: { from: Address; to: Address; value: bigint }) {
  return { from, to: token, data: encodeFunctionData({ abi: ABI, functionName: 'transfer', args: [to, value] }) }
}

/** Balances by separate calls of each token and of the chain; 0 for the native token's address. */
export function balanceCall(wallet: Address, token: Address | undefined, block: PinnedBlock) {
  const at = { blockHash: block.hash }
  if (token === undefined) return { method: 'eth_getBalance', params: [wallet, at] }
  const data = encodeFunctionData({ abi: ABI, functionName: 'balanceOf', args: [wallet] })
  return { method: 'eth_call', params: [{ to: token, data }, at] }
}

/** The devnet as a chain whose list has these tokens. */
export function listedChain(devnet: Devnet, addresses: readonly Address[], changes: Partial<FinanceChain> = {}) {
  return createDevnetChain(devnet, { tokens: { addresses, names: ['test'], added: [] }, ...changes })
}

const { classify: classifyToken } = createSpamFilter()

/** Reads balances as a portfolio does. */
export function read(
  client: FinanceClient,
  asked: {
    readonly wallet: Address
    readonly others?: readonly Address[]
    readonly block?: PinnedBlock
    readonly way?: LensMode
  },
): Promise<Balances> {
  const { wallet, others: additional = [], block, way } = asked
  const question = {
    chain: client.chain,
    wallet,
    additional,
    classifyToken,
    clock: slowClock,
  }
  return withLensMode(client, way).read((endpoint, work) => readBalances({ endpoint, block }, question, work), {
    work: patient,
    budgetMs: 30_000,
  })
}

/** The newest block, to be read at later. */
export function newestBlock(client: FinanceClient): Promise<PinnedBlock> {
  const chainId = client.chain.id
  return client.read((endpoint, work) => readBlock(endpoint, { chainId, number: 'latest' }, work), {
    work: patient,
  })
}
