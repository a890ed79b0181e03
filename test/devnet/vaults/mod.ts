import { concatHex, encodeAbiParameters, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { BANK, TOKENS, toWalletAddress } from '../addresses.ts'
import { placeContractsAt } from '../place.ts'
import type { Rpc } from '../rpc.ts'
import type { Send } from '../transaction.ts'
import { vaultContracts } from './compile.ts'

/** A wallet that has something in a vault on the devnet. */
export const VAULT_WALLET = toWalletAddress('vault depositor')

/** Where Ethereum has sDAI. */
export const SDAI = '0x83F20F44975D03b1b09e64809B757c47f942BEeA'
const DEPOSIT = 1_250n * 10n ** 18n
/** What the vault has earned since. */
const EARNED = 161_254_750_000_000_000_000n

const ABI = parseAbi([
  'function transfer(address to, uint256 value)',
  'function approve(address spender, uint256 value)',
  'function deposit(uint256 assets, address receiver)',
])
const encode = (functionName: (typeof ABI)[number]['name'], ...args: readonly unknown[]): Hex =>
  encodeFunctionData({ abi: ABI, functionName, args } as never)

/** Puts OpenZeppelin's vault of DAI where Ethereum has sDAI, in which a wallet deposits. */
export async function addVaults(context: { readonly rpc: Rpc; readonly send: Send }): Promise<typeof VAULT_WALLET> {
  const dai = TOKENS.dai.address
  const { ERC4626Mock } = await vaultContracts()
  const creationCode = concatHex([ERC4626Mock, encodeAbiParameters([{ type: 'address' }], [dai])])
  await placeContractsAt(context, { placements: [{ address: SDAI, creationCode }], owner: BANK })
  await context.send([
    { from: BANK, to: dai, data: encode('transfer', VAULT_WALLET, DEPOSIT) },
    { from: VAULT_WALLET, to: dai, data: encode('approve', SDAI, DEPOSIT) },
    { from: VAULT_WALLET, to: SDAI, data: encode('deposit', DEPOSIT, VAULT_WALLET) },
    { from: BANK, to: dai, data: encode('transfer', SDAI, EARNED) },
  ])
  return VAULT_WALLET
}
