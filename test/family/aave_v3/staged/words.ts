import { type Hex, toFunctionSelector } from 'viem'

/** Selectors of what is asked without the lens. */
export const SELECTOR = {
  getPool: toFunctionSelector('getPool()'),
  getPriceOracle: toFunctionSelector('getPriceOracle()'),
  baseCurrency: toFunctionSelector('BASE_CURRENCY()'),
  baseCurrencyUnit: toFunctionSelector('BASE_CURRENCY_UNIT()'),
  getAssetPrice: toFunctionSelector('getAssetPrice(address)'),
  getReservesList: toFunctionSelector('getReservesList()'),
  getReserveData: toFunctionSelector('getReserveData(address)'),
  getVirtualUnderlyingBalance: toFunctionSelector('getVirtualUnderlyingBalance(address)'),
  getUserConfiguration: toFunctionSelector('getUserConfiguration(address)'),
  getUserEMode: toFunctionSelector('getUserEMode(address)'),
  getUserAccountData: toFunctionSelector('getUserAccountData(address)'),
  getEModeCategoryData: toFunctionSelector('getEModeCategoryData(uint8)'),
  getEModeCategoryCollateralConfig: toFunctionSelector('getEModeCategoryCollateralConfig(uint8)'),
  getEModeCategoryCollateralBitmap: toFunctionSelector('getEModeCategoryCollateralBitmap(uint8)'),
  getEModeCategoryLtvzeroBitmap: toFunctionSelector('getEModeCategoryLtvzeroBitmap(uint8)'),
  getIsEModeCategoryIsolated: toFunctionSelector('getIsEModeCategoryIsolated(uint8)'),
  balanceOf: toFunctionSelector('balanceOf(address)'),
  scaledBalanceOf: toFunctionSelector('scaledBalanceOf(address)'),
  getUserStableRate: toFunctionSelector('getUserStableRate(address)'),
  symbol: toFunctionSelector('symbol()'),
} as const satisfies Record<string, Hex>
