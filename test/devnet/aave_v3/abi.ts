import { parseAbi } from 'viem'

/** The same in every version from 3.0 on. */
export const POOL_ABI = parseAbi([
  'function supply(address asset, uint256 amount, address onBehalfOf, uint16 referralCode)',
  'function borrow(address asset, uint256 amount, uint256 interestRateMode, uint16 referralCode, address onBehalfOf)',
  'function repay(address asset, uint256 amount, uint256 interestRateMode, address onBehalfOf) returns (uint256)',
  'function withdraw(address asset, uint256 amount, address to) returns (uint256)',
  'function setUserUseReserveAsCollateral(address asset, bool useAsCollateral)',
  'function setUserEMode(uint8 categoryId)',
  'function liquidationCall(address collateralAsset, address debtAsset, address user, uint256 debtToCover, bool receiveAToken)',
  'function getUserAccountData(address user) view returns (uint256 totalCollateralBase, uint256 totalDebtBase, uint256 availableBorrowsBase, uint256 currentLiquidationThreshold, uint256 ltv, uint256 healthFactor)',
  'function getUserEMode(address user) view returns (uint256)',
  'function getReservesList() view returns (address[])',
  'function ADDRESSES_PROVIDER() view returns (address)',
  'function FLASHLOAN_PREMIUM_TOTAL() view returns (uint128)',
])

export const PROVIDER_ABI = parseAbi([
  'function setAddress(bytes32 id, address newAddress)',
  'function setPoolImpl(address newPoolImpl)',
  'function setPoolConfiguratorImpl(address newPoolConfiguratorImpl)',
  'function setPriceOracle(address newPriceOracle)',
  'function setACLAdmin(address newAclAdmin)',
  'function setACLManager(address newAclManager)',
  'function setPoolDataProvider(address newDataProvider)',
  'function addPoolAdmin(address admin)',
  'function getMarketId() view returns (string)',
  'function getPool() view returns (address)',
  'function getPoolConfigurator() view returns (address)',
  'function getPriceOracle() view returns (address)',
  'function getPoolDataProvider() view returns (address)',
])

/** What governance sets, the same in 3.0 and 3.6. */
export const CONFIGURATOR_ABI = parseAbi([
  'function setReserveBorrowing(address asset, bool enabled)',
  'function configureReserveAsCollateral(address asset, uint256 ltv, uint256 liquidationThreshold, uint256 liquidationBonus)',
  'function setReserveFactor(address asset, uint256 newReserveFactor)',
  'function setDebtCeiling(address asset, uint256 newDebtCeiling)',
  'function setBorrowableInIsolation(address asset, bool borrowable)',
  'function setReserveFreeze(address asset, bool freeze)',
  'function setReservePause(address asset, bool paused)',
])

export const CONFIGURATOR_V3_6_ABI = parseAbi([
  'struct InitReserve { address aTokenImpl; address variableDebtTokenImpl; address underlyingAsset; string aTokenName; string aTokenSymbol; string variableDebtTokenName; string variableDebtTokenSymbol; bytes params; bytes interestRateData; }',
  'function initReserves(InitReserve[] input)',
  'function setEModeCategory(uint8 categoryId, uint16 ltv, uint16 liquidationThreshold, uint16 liquidationBonus, string label)',
  'function setAssetCollateralInEMode(address asset, uint8 categoryId, bool collateral)',
  'function setAssetBorrowableInEMode(address asset, uint8 categoryId, bool borrowable)',
  'function setAssetLtvzeroInEMode(address asset, uint8 categoryId, bool ltvzero)',
])

export const CONFIGURATOR_V3_0_ABI = parseAbi([
  'struct InitReserve { address aTokenImpl; address stableDebtTokenImpl; address variableDebtTokenImpl; uint8 underlyingAssetDecimals; address interestRateStrategyAddress; address underlyingAsset; address treasury; address incentivesController; string aTokenName; string aTokenSymbol; string variableDebtTokenName; string variableDebtTokenSymbol; string stableDebtTokenName; string stableDebtTokenSymbol; bytes params; }',
  'function initReserves(InitReserve[] input)',
  'function setReserveStableRateBorrowing(address asset, bool enabled)',
  'function setEModeCategory(uint8 categoryId, uint16 ltv, uint16 liquidationThreshold, uint16 liquidationBonus, address oracle, string label)',
  'function setAssetEModeCategory(address asset, uint8 newCategoryId)',
])

export const ORACLE_ABI = parseAbi([
  'function getAssetPrice(address asset) view returns (uint256)',
  'function getSourceOfAsset(address asset) view returns (address)',
])

/** Answers of the data provider that are the same in every version. */
export const DATA_PROVIDER_ABI = parseAbi([
  'function getReserveTokensAddresses(address asset) view returns (address aToken, address stableDebtToken, address variableDebtToken)',
  'function getUserReserveData(address asset, address user) view returns (uint256 currentATokenBalance, uint256 currentStableDebt, uint256 currentVariableDebt, uint256 principalStableDebt, uint256 scaledVariableDebt, uint256 stableBorrowRate, uint256 liquidityRate, uint40 stableRateLastUpdated, bool usageAsCollateralEnabled)',
  'function getReserveConfigurationData(address asset) view returns (uint256 decimals, uint256 ltv, uint256 liquidationThreshold, uint256 liquidationBonus, uint256 reserveFactor, bool usageAsCollateralEnabled, bool borrowingEnabled, bool stableBorrowRateEnabled, bool isActive, bool isFrozen)',
  'function getReserveData(address asset) view returns (uint256 unbacked, uint256 accruedToTreasuryScaled, uint256 totalAToken, uint256 totalStableDebt, uint256 totalVariableDebt, uint256 liquidityRate, uint256 variableBorrowRate, uint256 stableBorrowRate, uint256 averageStableBorrowRate, uint256 liquidityIndex, uint256 variableBorrowIndex, uint40 lastUpdateTimestamp)',
  'function getPaused(address asset) view returns (bool isPaused)',
  'function getDebtCeiling(address asset) view returns (uint256)',
])

/** Since 3.3. */
export const DEFICIT_ABI = parseAbi(['function getReserveDeficit(address asset) view returns (uint256)'])

export const TOKEN_ABI = parseAbi([
  'function balanceOf(address owner) view returns (uint256)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function approve(address spender, uint256 value) returns (bool)',
  'function mint(address to, uint256 value)',
])
