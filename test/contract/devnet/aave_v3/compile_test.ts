import { expect, test } from 'bun:test'
import type { Hex } from 'viem'
import { compile, link, loadArtifacts, loadStataArtifacts } from '../../../devnet/aave_v3/compile.ts'
import {
  cacheKey,
  getSourceName,
  inputFor,
  STATA_UNITS,
  UNITS,
  type UnitName,
} from '../../../devnet/aave_v3/sources.ts'
import { IS_FULL } from '../../../support/cases.ts'

const COMPILE_LIMIT_MS = 120_000
const CODE_BYTES_MAX = 24_576

test.if(IS_FULL)(
  'compile() gives the cached bytes again, whatever it is compiled beside',
  async () => {
    const artifacts = await loadArtifacts()
    const again = await compile(['AaveOracle', 'InitializableImmutableAdminUpgradeabilityProxy'])
    for (const [name, compiled] of Object.entries(again)) expect(compiled).toEqual(artifacts[name as UnitName])
  },
  COMPILE_LIMIT_MS,
)

test(
  'loadArtifacts() has every unit, small enough to be deployed, and tells no progress when it is cached',
  async () => {
    await loadArtifacts()
    const stages: string[] = []
    const artifacts = await loadArtifacts((stage) => stages.push(stage))
    expect(stages).toEqual([])
    expect(Object.keys(artifacts).sort()).toEqual(Object.keys(UNITS).sort())
    for (const { bytecode } of Object.values(artifacts)) expect(bytecode.length / 2).toBeLessThan(2 * CODE_BYTES_MAX)
  },
  COMPILE_LIMIT_MS,
)

test(
  'loadStataArtifacts() has what wraps aTokens, linked to nothing',
  async () => {
    const artifacts = await loadStataArtifacts()
    expect(Object.keys(artifacts).sort()).toEqual(Object.keys(STATA_UNITS).sort())
    for (const compiled of Object.values(artifacts)) expect(link(compiled)).toBe(compiled.bytecode as Hex)
  },
  COMPILE_LIMIT_MS,
)

test('cacheKey() is the same twice and stands for every source that a unit imports', () => {
  const key = cacheKey(['PoolInstance'])
  expect(cacheKey(['PoolInstance'])).toBe(key)
  expect(cacheKey(['StataTokenV2'])).not.toBe(key)
  expect(key).toMatch(/^[0-9a-f]{64}$/)
  const { sources } = inputFor(['PoolInstance'])
  expect(sources[getSourceName('PoolInstance')]?.content).toContain('contract PoolInstance')
  expect(Object.keys(sources)).toContain('openzeppelin-contracts/contracts/utils/math/SafeCast.sol')
  expect(Object.keys(sources).some((name) => name.endsWith('GenericLogic.sol'))).toBe(true)
})

test(
  'link() puts every library in, and refuses where one is missing',
  async () => {
    const { FlashLoanLogic } = await loadArtifacts()
    const library = '0x00000000000000000000000000000000000000aA'
    const linked = link(FlashLoanLogic, { BorrowLogic: library })
    expect(linked).toMatch(/^0x[0-9a-f]+$/)
    expect(linked).toContain(library.slice(2).toLowerCase())
    expect(() => link(FlashLoanLogic)).toThrow('Cannot link the library BorrowLogic')
  },
  COMPILE_LIMIT_MS,
)
