import type { AssetName, MarketName } from './addresses.ts'

/** Numbers in basis points where nothing else is said. */
export interface ReserveSetup {
  readonly ltv: number
  readonly threshold: number
  /** 10,000 plus what a liquidator earns; 0 if the reserve is not collateral. */
  readonly bonus: number
  readonly borrowable: boolean
  readonly factor: number
  readonly rates: Rates
  /** USD cents; 0: not isolated. */
  readonly debtCeilingCents: number
  readonly borrowableInIsolation: boolean
}

/** Utilisation where the second slope begins, rate at zero, first and second slope. */
export interface Rates {
  readonly optimal: number
  readonly base: number
  readonly slope1: number
  readonly slope2: number
}

export interface EmodeSetup {
  readonly id: number
  readonly label: string
  readonly ltv: number
  readonly threshold: number
  readonly bonus: number
  readonly collateral: readonly AssetName[]
  readonly borrowable: readonly AssetName[]
  /** Collateral of the eMode that gives no loan in it; set last, so that it can be taken up before. */
  readonly ltvZero?: readonly AssetName[]
}

export interface MarketSetup {
  readonly reserves: Readonly<Partial<Record<AssetName, ReserveSetup>>>
  readonly emodes: readonly EmodeSetup[]
}

const ETHER_RATES: Rates = { optimal: 9000, base: 0, slope1: 270, slope2: 8000 }
const STABLE_RATES: Rates = { optimal: 9200, base: 0, slope1: 550, slope2: 3500 }
const RISKY_RATES: Rates = { optimal: 4500, base: 50, slope1: 900, slope2: 30000 }

const RESERVE: ReserveSetup = {
  ltv: 5000,
  threshold: 6000,
  bonus: 11000,
  borrowable: true,
  factor: 2000,
  rates: RISKY_RATES,
  debtCeilingCents: 0,
  borrowableInIsolation: false,
}
const ETHER: ReserveSetup = {
  ...RESERVE,
  ltv: 8050,
  threshold: 8300,
  bonus: 10500,
  factor: 1500,
  rates: ETHER_RATES,
}
const STABLE: ReserveSetup = {
  ...RESERVE,
  ltv: 7500,
  threshold: 7800,
  bonus: 10450,
  factor: 1000,
  rates: STABLE_RATES,
  borrowableInIsolation: true,
}

export const MARKET_SETUPS = {
  main: {
    reserves: {
      weth: ETHER,
      wsteth: { ...ETHER, ltv: 7850, threshold: 8100, bonus: 10600, factor: 3500 },
      wbtc: { ...RESERVE, ltv: 7300, threshold: 7800, bonus: 10500 },
      usdc: STABLE,
      dai: { ...STABLE, ltv: 6300, threshold: 7700, factor: 2500 },
      usdt: { ...STABLE, borrowableInIsolation: false },
      weeth: { ...ETHER, ltv: 7750, threshold: 8000, bonus: 10700, factor: 4500 },
      gho: { ...STABLE, ltv: 0, threshold: 0, bonus: 0 },
      mkr: { ...RESERVE, ltv: 6500, threshold: 7000, bonus: 10850 },
      isolated: { ...RESERVE, borrowable: false, debtCeilingCents: 250_000_00 },
      ltvZero: { ...RESERVE, borrowable: false },
      paused: RESERVE,
      frozen: RESERVE,
      volatile: { ...RESERVE, ltv: 7000, threshold: 8000 },
      breakable: RESERVE,
      modal: { ...RESERVE, ltv: 0, threshold: 0, bonus: 0, borrowable: false },
    },
    emodes: [
      {
        id: 1,
        label: 'ETH correlated',
        ltv: 9300,
        threshold: 9500,
        bonus: 10100,
        collateral: ['weth', 'wsteth', 'weeth'],
        borrowable: ['weth'],
      },
      {
        id: 2,
        label: 'weETH / stablecoins',
        ltv: 8000,
        threshold: 8200,
        bonus: 10400,
        collateral: ['weeth'],
        borrowable: ['usdc', 'usdt'],
      },
      {
        id: 3,
        label: 'Stablecoins',
        ltv: 9000,
        threshold: 9250,
        bonus: 10300,
        collateral: ['usdc', 'dai', 'usdt'],
        borrowable: ['usdc', 'dai', 'usdt', 'gho'],
      },
      {
        id: 4,
        label: 'Bitcoin and ether',
        ltv: 8200,
        threshold: 8600,
        bonus: 10500,
        collateral: ['wbtc', 'weth'],
        borrowable: ['usdc'],
        ltvZero: ['wbtc'],
      },
      {
        id: 7,
        label: 'Modal',
        ltv: 8600,
        threshold: 8800,
        bonus: 10500,
        collateral: ['modal'],
        borrowable: ['usdc', 'usdt'],
      },
    ],
  },
  lido: {
    reserves: {
      weth: { ...ETHER, ltv: 8200, threshold: 8300 },
      wsteth: { ...ETHER, ltv: 8000, threshold: 8100, bonus: 10600 },
      usdc: { ...STABLE, ltv: 0, threshold: 0, bonus: 0 },
    },
    emodes: [
      {
        id: 1,
        label: 'wstETH / WETH',
        ltv: 9350,
        threshold: 9550,
        bonus: 10100,
        collateral: ['wsteth'],
        borrowable: ['weth'],
      },
    ],
  },
  etherfi: {
    reserves: {
      weeth: { ...ETHER, ltv: 7800, threshold: 8000, bonus: 10700 },
      usdc: STABLE,
      weth: ETHER,
    },
    emodes: [
      {
        id: 1,
        label: 'weETH / WETH',
        ltv: 9000,
        threshold: 9300,
        bonus: 10200,
        collateral: ['weeth'],
        borrowable: ['weth', 'usdc'],
      },
    ],
  },
  v3_0: {
    reserves: { weth: ETHER, usdc: STABLE, dai: STABLE, wbtc: { ...RESERVE, ltv: 7000, threshold: 7500 } },
    emodes: [
      // In 3.0 an asset is in one eMode at most, as collateral and as debt.
      {
        id: 1,
        label: 'Stablecoins',
        ltv: 9300,
        threshold: 9500,
        bonus: 10100,
        collateral: ['usdc', 'dai'],
        borrowable: ['usdc', 'dai'],
      },
    ],
  },
} as const satisfies Record<MarketName, MarketSetup>
