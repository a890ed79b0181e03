import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FAMILIES } from '../../../src/family/mod.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { Envelope } from '../../../src/lib/dsse.ts'
import { parseKeys } from '../../../src/receipt/keys.ts'
import { verifyReceipt } from '../../../src/receipt/verify.ts'
import { decodePayload, runner } from './stage.ts'

const FOLDER = join(import.meta.dir, '../../support/receipt/golden')
const NAMES = readdirSync(FOLDER).filter((name) => name.endsWith('.json') && name !== 'keys.json')
const KEYS = parseKeys(readFileSync(join(FOLDER, 'keys.json'), 'utf8'))
const AGAIN = 'bun test/support/receipt/golden/record.ts'

test('there are golden receipts of families whose answers can be counted again, and of one that is only signed', () => {
  const recorded = new Set(NAMES.map((name) => decodePayload(readEnvelope(name)).family.name))
  expect([...recorded].filter((name) => !FAMILIES.some((family) => family.name === name))).toEqual(['portfolio'])
  expect([...recorded].sort()).toEqual(['aave-v3', 'kamino', 'morpho-blue', 'portfolio', 'uniswap-v3', 'uniswap-v4'])
  expect(NAMES.length).toBeGreaterThan(20)
})

for (const name of NAMES) {
  test(`the golden receipt ${name} comes to the same figures`, async () => {
    const receipt = readEnvelope(name)
    const work = createWork(new AbortController().signal)
    const evidence = { keys: KEYS, rpcUrls: [], blockHashes: new Map(), clock: systemClock, work, runner }
    const { is, verdicts } = await verifyReceipt(JSON.stringify(receipt), evidence)
    const { family, level } = decodePayload(receipt)
    const said = JSON.stringify(verdicts, undefined, 1)
    if (level === 'signed') {
      expect([is, verdicts.signature.is, verdicts.figures.is]).toEqual(['true', 'true', 'unknown'])
      return
    }
    if (verdicts.figures.because.includes('does not hold')) {
      throw new Error(`${family.name} asks for something else than it did: record anew with "${AGAIN}"\n${said}`)
    }
    if (verdicts.figures.is === 'unknown') {
      throw new Error(`${family.name} has another revision: record anew with "${AGAIN}"\n${said}`)
    }
    if (verdicts.figures.is === 'false') {
      throw new Error(
        `${family.name} answers otherwise than in revision ${family.revision}: if that is meant, raise "revision" in ` +
          `its mod.ts and record anew with "${AGAIN}"\n${said}`,
      )
    }
    expect(is).toBe('true')
  })
}

function readEnvelope(name: string): Envelope {
  return JSON.parse(readFileSync(join(FOLDER, name), 'utf8'))
}
