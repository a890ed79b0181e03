import type { Address } from 'viem'
import { type DevnetToken, TOKENS, toWalletAddress } from '../addresses.ts'

export interface MarketAddresses {
  readonly provider: Address
  readonly pool: Address
  readonly configurator: Address
  readonly oracle: Address
  readonly dataProvider: Address
}

/** Where Ethereum has its three markets; the last one is not on Ethereum: an Aave V3.0, of the time of stable debt. */
export const MARKETS = {
  main: {
    provider: '0x2f39d218133AFaB8F2B819B1066c7E434Ad94E9e',
    pool: '0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2',
    configurator: '0x64b761D848206f447Fe2dd461b0c635Ec39EbB27',
    oracle: '0x54586bE62E3c3580375aE3723C145253060Ca0C2',
    dataProvider: '0x0a16f2FCC0D44FaE41cc54e079281D84A363bECD',
  },
  lido: {
    provider: '0xcfBf336fe147D643B9Cb705648500e101504B16d',
    pool: '0x4e033931ad43597d96D6bcc25c280717730B58B1',
    configurator: '0x342631c6CeFC9cfbf97b2fe4aa242a236e1fd517',
    oracle: '0xE3C061981870C0C7b1f3C4F4bB36B95f1F260BE6',
    dataProvider: '0xB85B2bFEbeC4F5f401dbf92ac147A3076391fCD5',
  },
  etherfi: {
    provider: '0xeBa440B438Ad808101d1c451C1C5322c90BEFCdA',
    pool: '0x0AA97c284e98396202b6A04024F5E2c65026F3c0',
    configurator: '0x8438F4D29D895d75C86BDC25360c25eF0607E65d',
    oracle: '0x43b64f28A678944E0655404B0B98E443851cC34F',
    dataProvider: '0x7c8509591f9693D21280d96e149a08A3bf69Cd0c',
  },
  v3_0: {
    provider: toWalletAddress('aave 3.0 provider'),
    pool: toWalletAddress('aave 3.0 pool'),
    configurator: toWalletAddress('aave 3.0 configurator'),
    oracle: toWalletAddress('aave 3.0 oracle'),
    dataProvider: toWalletAddress('aave 3.0 data provider'),
  },
} as const satisfies Record<string, MarketAddresses>

export type MarketName = keyof typeof MARKETS

/** A token of the devnet's own, at an address and with a feed of its own. */
function own(symbol: string, token: { readonly name: string; readonly decimals: number; readonly usd: number }) {
  return {
    ...token,
    symbol,
    address: toWalletAddress(`token ${symbol}`),
    feed: toWalletAddress(`feed ${symbol} / USD`),
  }
}

/** Tokens that only Aave's markets know; the upper half stand in for real ones at their addresses. */
export const AAVE_TOKENS = {
  wsteth: {
    ...own('wstETH', { name: 'Wrapped liquid staked Ether 2.0', decimals: 18, usd: 3612.48371902 }),
    address: '0x7f39C581F595B53c5cb19bD0b3f8dA6c935E2Ca0',
  },
  weeth: {
    ...own('weETH', { name: 'Wrapped eETH', decimals: 18, usd: 3158.20994716 }),
    address: '0xCd5fE23C85820F7B72D0926FC9b05b43E359b7ee',
  },
  gho: {
    ...own('GHO', { name: 'Gho Token', decimals: 18, usd: 0.99934128 }),
    address: '0x40D16FC0246aD3160Ccc09B8D0D3A2cD28aE6C2f',
  },
  /** Name and symbol are bytes32. */
  mkr: {
    ...own('MKR', { name: 'Maker', decimals: 18, usd: 1487.30561294 }),
    address: '0x9f8F72aA9304c8B593d555F12eF6589cC3A579A2',
  },
  isolated: own('ISOL', { name: 'Isolated Collateral', decimals: 18, usd: 2.07163548 }),
  ltvZero: own('LTVZ', { name: 'Collateral Without Loans', decimals: 18, usd: 4.98120377 }),
  paused: own('PAUS', { name: 'Paused Reserve', decimals: 6, usd: 1.5 }),
  frozen: own('FROZ', { name: 'Frozen Reserve', decimals: 18, usd: 4.11873302 }),
  /** The scenario crashes its price. */
  volatile: own('VOLT', { name: 'Volatile Collateral', decimals: 18, usd: 100 }),
  /** Its price may be broken without breaking what the other wallets hold. */
  breakable: own('BRKN', { name: 'Breakable Price', decimals: 8, usd: 10.26419957 }),
  /** Collateral inside an eMode, none outside. */
  modal: own('MODL', { name: 'Collateral In An eMode Only', decimals: 18, usd: 19.73350816 }),
} as const satisfies Record<string, DevnetToken>

export const ASSETS = { ...TOKENS, ...AAVE_TOKENS } as const satisfies Record<string, DevnetToken>

export type AssetName = keyof typeof ASSETS

/** What each wallet holds is in scenario.ts. */
export const AAVE_WALLETS = {
  /** Supplies what the others borrow, in every market; borrows nothing. */
  lender: toWalletAddress('aave lender'),
  supplier: toWalletAddress('aave supplier'),
  /** Several collaterals, several debts. */
  borrower: toWalletAddress('aave borrower'),
  emode: toWalletAddress('aave emode'),
  /** In an eMode, with collateral inside and outside of it. */
  mixedEmode: toWalletAddress('aave mixed emode'),
  /** Its collateral is none outside its eMode. */
  modal: toWalletAddress('aave modal'),
  /** In an eMode where its collateral has LTV zero. */
  emodeLtvZero: toWalletAddress('aave emode ltv zero'),
  isolated: toWalletAddress('aave isolated'),
  /** One supply is not collateral, because its owner said so. */
  switchedOff: toWalletAddress('aave switched off'),
  ltvZero: toWalletAddress('aave ltv zero'),
  /** Never supplied: was sent aTokens. */
  receiver: toWalletAddress('aave receiver'),
  /** Was sent aTokens and switched them on as collateral for a debt. */
  receiverBorrower: toWalletAddress('aave receiver borrower'),
  paused: toWalletAddress('aave paused'),
  frozen: toWalletAddress('aave frozen'),
  /** Partly liquidated, healthy since. */
  liquidated: toWalletAddress('aave liquidated'),
  /** Can be liquidated, but was not. */
  underwater: toWalletAddress('aave underwater'),
  /** Owes more than it has, and was not liquidated. */
  insolvent: toWalletAddress('aave insolvent'),
  /** All collateral liquidated, the rest of the debt written off. */
  badDebt: toWalletAddress('aave bad debt'),
  /** Single raw units. */
  dust: toWalletAddress('aave dust'),
  /** Repaid everything and withdrew everything. */
  left: toWalletAddress('aave left'),
  /** In all three markets. */
  everywhere: toWalletAddress('aave everywhere'),
  lidoOnly: toWalletAddress('aave lido only'),
  etherfiOnly: toWalletAddress('aave etherfi only'),
  /** Holds the reserve with the breakable price in `main`, ordinary ones in `lido`. */
  breakable: toWalletAddress('aave breakable'),
  bytes32: toWalletAddress('aave bytes32'),
  empty: toWalletAddress('aave empty'),
  /** In the 3.0 market: variable and stable debt, an eMode. */
  oldBorrower: toWalletAddress('aave 3.0 borrower'),
  oldEmode: toWalletAddress('aave 3.0 emode'),
  oldSupplier: toWalletAddress('aave 3.0 supplier'),
} as const satisfies Record<string, Address>

export type AaveWalletName = keyof typeof AAVE_WALLETS
