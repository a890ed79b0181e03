import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, posix } from 'node:path'

/** What the compiler takes. */
export interface SolcInput {
  readonly language: 'Solidity'
  readonly sources: Readonly<Record<string, { readonly content: string }>>
  readonly settings: unknown
}

/** Contracts of Aave V3.6 that a market is made of: source below `src/contracts`, and how long it takes to compile. */
export const UNITS = {
  PoolInstance: { source: 'instances/PoolInstance.sol', costMs: 3_800 },
  PoolConfiguratorInstance: { source: 'instances/PoolConfiguratorInstance.sol', costMs: 2_700 },
  ATokenInstance: { source: 'instances/ATokenInstance.sol', costMs: 2_400 },
  VariableDebtTokenInstance: { source: 'instances/VariableDebtTokenInstance.sol', costMs: 2_000 },
  BorrowLogic: { source: 'protocol/libraries/logic/BorrowLogic.sol', costMs: 2_500 },
  ConfiguratorLogic: { source: 'protocol/libraries/logic/ConfiguratorLogic.sol', costMs: 1_100 },
  FlashLoanLogic: { source: 'protocol/libraries/logic/FlashLoanLogic.sol', costMs: 1_900 },
  LiquidationLogic: { source: 'protocol/libraries/logic/LiquidationLogic.sol', costMs: 2_100 },
  PoolLogic: { source: 'protocol/libraries/logic/PoolLogic.sol', costMs: 1_700 },
  SupplyLogic: { source: 'protocol/libraries/logic/SupplyLogic.sol', costMs: 2_700 },
  PoolAddressesProvider: { source: 'protocol/configuration/PoolAddressesProvider.sol', costMs: 1_500 },
  ACLManager: { source: 'protocol/configuration/ACLManager.sol', costMs: 700 },
  AaveOracle: { source: 'misc/AaveOracle.sol', costMs: 900 },
  DefaultReserveInterestRateStrategyV2: { source: 'misc/DefaultReserveInterestRateStrategyV2.sol', costMs: 900 },
  WrappedTokenGatewayV3: { source: 'helpers/WrappedTokenGatewayV3.sol', costMs: 1_200 },
  AaveProtocolDataProvider: { source: 'helpers/AaveProtocolDataProvider.sol', costMs: 1_100 },
  InitializableImmutableAdminUpgradeabilityProxy: {
    source: 'misc/aave-upgradeability/InitializableImmutableAdminUpgradeabilityProxy.sol',
    costMs: 500,
  },
} as const satisfies Record<string, { readonly source: string; readonly costMs: number }>

/** Beside a market: wrapped aTokens, and the controller that they ask for rewards. Few tests deploy them. */
export const STATA_UNITS = {
  StataTokenV2: { source: 'extensions/stata-token/StataTokenV2.sol', costMs: 2_300 },
  RewardsController: { source: 'rewards/RewardsController.sol', costMs: 900 },
} as const satisfies Record<string, { readonly source: string; readonly costMs: number }>

export const ALL_UNITS = { ...UNITS, ...STATA_UNITS } as const

export type UnitName = keyof typeof UNITS
export type StataUnitName = keyof typeof STATA_UNITS
export type AnyUnitName = keyof typeof ALL_UNITS

const ROOT = 'aave-v3-origin/contracts'
/** As Aave builds it, but without metadata: the bytes then depend on the code alone. */
const SETTINGS = {
  evmVersion: 'cancun',
  optimizer: { enabled: true, runs: 200 },
  metadata: { bytecodeHash: 'none', appendCBOR: false },
}
const OUTPUT = ['evm.bytecode.object', 'evm.bytecode.linkReferences']
/** As Aave names OpenZeppelin's contracts, and as OpenZeppelin's upgradeable ones do: one name, lest types be two. */
const OPEN_ZEPPELIN = 'openzeppelin-contracts/contracts/'
const NPM_NAME = '@openzeppelin/contracts/'
const IMPORT = /^\s*import\s+(?:[^'";]*\bfrom\s+)?['"]([^'"]+)['"]/gm

const require = createRequire(import.meta.url)
const origin = require.resolve('@aave-dao/aave-v3-origin/package.json')
const utilities = createRequire(origin).resolve('@bgd-labs/solidity-utils/package.json')

/** The name of a unit's source file in the compiler's input. */
export function getSourceName(unit: AnyUnitName): string {
  return `${ROOT}/${ALL_UNITS[unit].source}`
}

/** The compiler's input for some units: them and all that they import. */
export function inputFor(units: readonly AnyUnitName[]): SolcInput {
  const sources: Record<string, { readonly content: string }> = {}
  const add = (name: string): void => {
    if (name in sources) return
    const content = readFileSync(resolvePath(name), 'utf8').replaceAll(NPM_NAME, OPEN_ZEPPELIN)
    sources[name] = { content }
    for (const [, imported = ''] of content.matchAll(IMPORT)) {
      add(imported.startsWith('.') ? posix.join(dirname(name), imported) : imported)
    }
  }
  for (const unit of units) add(getSourceName(unit))
  const outputSelection = Object.fromEntries(units.map((unit) => [getSourceName(unit), { [unit]: OUTPUT }]))
  return { language: 'Solidity', sources, settings: { ...SETTINGS, outputSelection } }
}

/** Changes when a source of these units, a setting or the compiler does. */
export function cacheKey(units: readonly AnyUnitName[]): string {
  const input = inputFor(units)
  const sources = Object.entries(input.sources).sort(([a], [b]) => (a < b ? -1 : 1))
  const compiler = readFileSync(require.resolve('solc/soljson.js'))
  return new Bun.CryptoHasher('sha256')
    .update(JSON.stringify([sources, input.settings]))
    .update(compiler)
    .digest('hex')
}

/** Where an import lives; the paths are those of Aave's own remappings. */
function resolvePath(name: string): string {
  const places = [
    [`${ROOT}/`, join(dirname(origin), 'src', 'contracts')],
    ['solidity-utils/', join(dirname(utilities), 'src')],
  ] as const
  for (const [prefix, directory] of places) {
    if (name.startsWith(prefix)) return join(directory, name.slice(prefix.length))
  }
  const packages = [
    [OPEN_ZEPPELIN, NPM_NAME],
    ['openzeppelin-contracts-upgradeable/contracts/', '@openzeppelin/contracts-upgradeable/'],
  ] as const
  for (const [prefix, npm] of packages) {
    if (name.startsWith(prefix)) return createRequire(utilities).resolve(npm + name.slice(prefix.length))
  }
  throw new Error(`Cannot find the source ${name}`)
}
