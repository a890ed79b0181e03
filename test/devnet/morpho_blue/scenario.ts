import { type Address, encodeAbiParameters, zeroAddress } from 'viem'
import { type DevnetToken, TOKENS, toWalletAddress } from '../addresses.ts'
import { ownCreationCode } from '../artifacts.ts'
import { deployToken, usdToRaw } from '../scenario.ts'
import { ADAPTIVE_CURVE, CALLS, type MorphoMarket, toMorphoMarket } from './calls.ts'
import {
  approveCall,
  deploy,
  deployOracle,
  type MorphoBuilder,
  oraclePrice,
  percent,
  setOracleCall,
  warp,
} from './tools.ts'

const { weth, usdc, dai, wbtc, usdt } = TOKENS

const DAY_SEC = 86_400
const WAD = 10n ** 18n

/** Wallets by what they are in Morpho; where is in `buildMorphoScenario`. */
export const MORPHO_WALLETS = {
  supplier: toWalletAddress('morpho supplier'),
  borrower: toWalletAddress('morpho borrower'),
  collateralOnly: toWalletAddress('morpho collateral only'),
  /** Supplies, and borrows in the same market. */
  both: toWalletAddress('morpho both'),
  /** Owes more than its collateral is worth. */
  badDebt: toWalletAddress('morpho bad debt'),
  /** Earns the markets' fees. */
  feeRecipient: toWalletAddress('morpho fee recipient'),
  /** Nothing anywhere. */
  none: toWalletAddress('morpho none'),
} as const satisfies Record<string, Address>

/** Loan token, collateral token, liquidation loan-to-value and fee in percent. */
const MARKETS = {
  /** The market that all wallets are in. */
  wethUsdc: { loan: usdc, collateral: weth, lltvPct: 86n, feePct: 10n },
  usdcWeth: { loan: weth, collateral: usdc, lltvPct: 77n, feePct: 0n },
  /** Its collateral has lost most of its price since it was borrowed against. */
  crashed: { loan: usdt, collateral: wbtc, lltvPct: 86n, feePct: 0n },
  /** Its oracle prices the collateral at zero. */
  zeroPrice: { loan: usdc, collateral: wbtc, lltvPct: 77n, feePct: 0n },
  /** Its oracle reverts. */
  silentOracle: { loan: dai, collateral: wbtc, lltvPct: 86n, feePct: 0n },
  /** An interest-rate model without memory. */
  linear: { loan: dai, collateral: weth, lltvPct: 86n, feePct: 25n },
} as const satisfies Record<
  string,
  { readonly loan: DevnetToken; readonly collateral: DevnetToken; readonly lltvPct: bigint; readonly feePct: bigint }
>

export type MorphoMarketName = keyof typeof MARKETS | 'idle' | 'undescribed'

export interface MorphoScenario {
  readonly markets: Readonly<Record<MorphoMarketName, MorphoMarket>>
  readonly wallets: typeof MORPHO_WALLETS
  /** 2 % a year, and 10 % more at full utilization. */
  readonly linearIrm: Address
}

/** Creates the markets and the wallets' positions, then lets two days pass without accrual. */
export async function buildMorphoScenario(builder: MorphoBuilder): Promise<MorphoScenario> {
  const { send, rpc, codes } = builder
  const linearArgs = encodeAbiParameters(
    [{ type: 'uint256' }, { type: 'uint256' }],
    [perSecond(2n * 10n ** 16n), perSecond(10n ** 17n)],
  )
  const linearIrm = await deploy(builder, `${codes.LinearIrm}${linearArgs.slice(2)}`)
  const bare = await deployToken(send, ownCreationCode('BareToken'))
  await send([
    ...Object.values(TOKENS).map(({ address }) => approveCall(address)),
    approveCall(bare),
    ...[ADAPTIVE_CURVE, linearIrm, zeroAddress].map(CALLS.enableIrm),
    ...[0n, 77n, 86n].map((pct) => CALLS.enableLltv(percent(pct))),
    CALLS.setFeeRecipient(MORPHO_WALLETS.feeRecipient),
  ])

  const names = Object.keys(MARKETS) as (keyof typeof MARKETS)[]
  const markets = {} as Record<MorphoMarketName, MorphoMarket>
  for (const name of names) {
    const { loan, collateral, lltvPct } = MARKETS[name]
    const irm = name === 'linear' ? linearIrm : ADAPTIVE_CURVE
    const oracle = await deployOracle(builder, oraclePrice(loan, collateral))
    const tokens = { loanToken: loan.address, collateralToken: collateral.address }
    markets[name] = toMorphoMarket({ ...tokens, oracle, irm, lltv: percent(lltvPct) })
  }
  const nothing = { collateralToken: zeroAddress, oracle: zeroAddress, irm: zeroAddress, lltv: 0n }
  markets.idle = toMorphoMarket({ loanToken: usdc.address, ...nothing })
  // A loan token without metadata.
  const odd = await deployOracle(builder, WAD)
  const tokens = { loanToken: bare, collateralToken: weth.address }
  markets.undescribed = toMorphoMarket({ ...tokens, oracle: odd, irm: ADAPTIVE_CURVE, lltv: percent(86n) })
  await send(Object.values(markets).map(CALLS.createMarket))
  await send(
    names
      .filter((name) => MARKETS[name].feePct > 0n)
      .map((name) => CALLS.setFee(markets[name], percent(MARKETS[name].feePct))),
  )

  const { supplier, borrower, collateralOnly, both, badDebt } = MORPHO_WALLETS
  const deposit = (name: keyof typeof MARKETS, wallet: Address, usd: number) =>
    CALLS.supply({ market: markets[name], wallet, assets: usdToRaw(MARKETS[name].loan, usd) })
  const pledge = (name: keyof typeof MARKETS, wallet: Address, usd: number) =>
    CALLS.supplyCollateral({ market: markets[name], wallet, assets: usdToRaw(MARKETS[name].collateral, usd) })
  const borrow = (name: keyof typeof MARKETS, wallet: Address, usd: number) =>
    CALLS.borrow({ market: markets[name], wallet, assets: usdToRaw(MARKETS[name].loan, usd) })
  await send([
    ...names.map((name) => deposit(name, supplier, 1_000_000)),
    CALLS.supply({ market: markets.idle, wallet: supplier, assets: usdToRaw(usdc, 25_000) }),
    CALLS.supply({ market: markets.undescribed, wallet: supplier, assets: WAD }),
    ...names.flatMap((name) => [pledge(name, borrower, 500_000), borrow(name, borrower, 300_000)]),
    pledge('wethUsdc', collateralOnly, 12_000),
    pledge('silentOracle', collateralOnly, 12_000),
    pledge('zeroPrice', collateralOnly, 12_000),
    ...[deposit('wethUsdc', both, 40_000), pledge('wethUsdc', both, 90_000), borrow('wethUsdc', both, 50_000)],
    ...[pledge('crashed', badDebt, 10_000), borrow('crashed', badDebt, 8_000)],
  ])
  await send([
    setOracleCall(markets.crashed, { price: oraclePrice(usdt, wbtc) / 2n }),
    setOracleCall(markets.zeroPrice, { price: 0n }),
    setOracleCall(markets.silentOracle, { price: 1n, mood: 'reverts' }),
  ])
  await warp(rpc, 2 * DAY_SEC)
  return { markets, wallets: MORPHO_WALLETS, linearIrm }
}

function perSecond(yearly: bigint): bigint {
  return yearly / 31_536_000n
}
