import { expect, test } from 'bun:test'
import { createReadiness } from '../../../../src/http/page/probes.ts'
import { createTestClock } from '../../../support/test_clock.ts'

test('one chain that answers suffices, and the database alone where none is served', async () => {
  const isReady = async (database: boolean, chains: readonly boolean[]) => {
    const probes = new Map(chains.map((answer, index) => [index + 1, async () => answer]))
    const read = createReadiness({ database: async () => database, chains: probes }, createTestClock())
    return (await read()).ready
  }
  expect(await isReady(true, [false, true, false])).toBe(true)
  expect(await isReady(true, [])).toBe(true)
  expect(await isReady(true, [false, false])).toBe(false)
  expect(await isReady(false, [true])).toBe(false)
})
