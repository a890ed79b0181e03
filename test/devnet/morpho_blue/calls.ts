import {
  type Address,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  keccak256,
  parseAbi,
  parseAbiParameters,
} from 'viem'
import { BANK } from '../addresses.ts'
import type { Transaction } from '../transaction.ts'

/** Where Ethereum has Morpho and its interest-rate model, and so has the devnet. */
export const MORPHO: Address = '0xBBBBBbbBBb9cC5e90e3b3Af64bdAF62C37EEFFCb'
export const ADAPTIVE_CURVE: Address = '0x870aC11D48B15DB9a138Cf899d20F13F79Ba00BC'

export const MORPHO_ABI = parseAbi([
  'struct MarketParams { address loanToken; address collateralToken; address oracle; address irm; uint256 lltv; }',
  'function enableIrm(address irm)',
  'function enableLltv(uint256 lltv)',
  'function setFee(MarketParams params, uint256 fee)',
  'function setFeeRecipient(address recipient)',
  'function setAuthorization(address authorized, bool isAuthorized)',
  'function createMarket(MarketParams params)',
  'function supply(MarketParams params, uint256 assets, uint256 shares, address onBehalf, bytes data) returns (uint256 assets, uint256 shares)',
  'function withdraw(MarketParams params, uint256 assets, uint256 shares, address onBehalf, address receiver) returns (uint256 assets, uint256 shares)',
  'function borrow(MarketParams params, uint256 assets, uint256 shares, address onBehalf, address receiver) returns (uint256 assets, uint256 shares)',
  'function repay(MarketParams params, uint256 assets, uint256 shares, address onBehalf, bytes data) returns (uint256 assets, uint256 shares)',
  'function supplyCollateral(MarketParams params, uint256 assets, address onBehalf, bytes data)',
  'function withdrawCollateral(MarketParams params, uint256 assets, address onBehalf, address receiver)',
  'function liquidate(MarketParams params, address borrower, uint256 seizedAssets, uint256 repaidShares, bytes data) returns (uint256 seized, uint256 repaid)',
  'function accrueInterest(MarketParams params)',
  'function position(bytes32 id, address user) view returns (uint256 supplyShares, uint128 borrowShares, uint128 collateral)',
  'function market(bytes32 id) view returns (uint128 totalSupplyAssets, uint128 totalSupplyShares, uint128 totalBorrowAssets, uint128 totalBorrowShares, uint128 lastUpdate, uint128 fee)',
])

export interface MorphoMarket {
  readonly id: Hex
  readonly params: {
    readonly loanToken: Address
    readonly collateralToken: Address
    readonly oracle: Address
    readonly irm: Address
    /** 18 decimals. */
    readonly lltv: bigint
  }
}

/** A wallet's business in a market; `assets` in raw units of the loan token, or of the collateral where that moves. */
export interface Action {
  readonly market: MorphoMarket
  readonly wallet: Address
  readonly assets: bigint
}

/** What a wallet can do, as transactions. Whatever comes in is paid by the bank; whatever goes out goes to the wallet. */
export const CALLS = {
  supply: ({ market, wallet, assets }: Action) =>
    call(BANK, encode('supply', [market.params, assets, 0n, wallet, '0x'])),
  withdraw: ({ market, wallet, assets }: Action) =>
    call(wallet, encode('withdraw', [market.params, assets, 0n, wallet, wallet])),
  borrow: ({ market, wallet, assets }: Action) =>
    call(wallet, encode('borrow', [market.params, assets, 0n, wallet, wallet])),
  repay: ({ market, wallet, assets }: Action) => call(BANK, encode('repay', [market.params, assets, 0n, wallet, '0x'])),
  supplyCollateral: ({ market, wallet, assets }: Action) =>
    call(BANK, encode('supplyCollateral', [market.params, assets, wallet, '0x'])),
  withdrawCollateral: ({ market, wallet, assets }: Action) =>
    call(wallet, encode('withdrawCollateral', [market.params, assets, wallet, wallet])),
  /** Takes so much collateral of the wallet for the part of its debt that it pays. */
  liquidate: ({ market, wallet, assets }: Action) =>
    call(BANK, encode('liquidate', [market.params, wallet, assets, 0n, '0x'])),
  accrue: ({ params }: MorphoMarket) => call(BANK, encode('accrueInterest', [params])),
  createMarket: ({ params }: MorphoMarket) => call(BANK, encode('createMarket', [params])),
  /** `fee` with 18 decimals, at most a quarter. */
  setFee: ({ params }: MorphoMarket, fee: bigint) => call(BANK, encode('setFee', [params, fee])),
  setFeeRecipient: (recipient: Address) => call(BANK, encode('setFeeRecipient', [recipient])),
  enableIrm: (irm: Address) => call(BANK, encode('enableIrm', [irm])),
  enableLltv: (lltv: bigint) => call(BANK, encode('enableLltv', [lltv])),
  authorize: (wallet: Address, authorized: Address) => call(wallet, encode('setAuthorization', [authorized, true])),
} as const

/** A market by its parameters; its id is their hash. */
export function toMorphoMarket(params: MorphoMarket['params']): MorphoMarket {
  const { loanToken, collateralToken, oracle, irm, lltv } = params
  const types = parseAbiParameters('address, address, address, address, uint256')
  return { id: keccak256(encodeAbiParameters(types, [loanToken, collateralToken, oracle, irm, lltv])), params }
}

type Encode = typeof encodeFunctionData<typeof MORPHO_ABI>

function encode(functionName: Parameters<Encode>[0]['functionName'], args: readonly unknown[]): Hex {
  return encodeFunctionData({ abi: MORPHO_ABI, functionName, args } as Parameters<Encode>[0])
}

function call(from: Address, data: Hex): Transaction {
  return { from, to: MORPHO, data }
}
