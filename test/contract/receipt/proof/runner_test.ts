import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { temporaryDirectory } from '../../../support/database.ts'

const RUNNER = join(import.meta.dir, '../../../../src/chain/receipt/proof/runner.ts')
/** An invalid proof, and the thread's reply to it. */
const JOB = { chainId: 1, proof: { header: '0x', nodes: [], codes: [] }, calls: [], explores: false } as const

test('a thread that starts before its job replies to it', async () => {
  const { createProofRunner } = await import('../../../../src/chain/receipt/proof/runner.ts')
  const runner = createProofRunner()
  runner.prepare()
  runner.prepare()
  const { signal } = new AbortController()
  expect(await runner.run(JOB, signal)).toEqual({ fault: 'the proof cannot be read' })
  runner.close()
})

test('a thread that dies without a job fails no caller, and later jobs report it', async () => {
  const { outputs } = await Bun.build({ entrypoints: [RUNNER], target: 'bun', format: 'esm' })
  // The worker's file is missing.
  const path = join(temporaryDirectory(), 'runner.mjs')
  await Bun.write(path, outputs[0] ?? '')
  const { createProofRunner }: typeof import('../../../../src/chain/receipt/proof/runner.ts') = await import(path)
  const [first, second] = [createProofRunner(), createProofRunner()]
  first.prepare()
  const { signal } = new AbortController()
  // Begun later, it dies later.
  for (const runner of [second, first]) {
    await expect(runner.run(JOB, signal)).rejects.toThrow('The thread of proofs has ended')
  }
})
