import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Served, serveBun } from '../../src/http/bun.ts'
import { sendRaw } from '../support/client.ts'
import { createFixture } from './fixture.ts'
import { RAW_REQUESTS } from './raw_requests.ts'

let served: Served
let node: Bun.Subprocess<'ignore', 'pipe', 'inherit'>
let nodePort: number
let directory: string

beforeAll(async () => {
  served = serveBun(createFixture().app, { port: 0, host: '127.0.0.1' })
  directory = await mkdtemp(join(tmpdir(), 'walletscope-raw-'))
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, 'node_entry.ts')],
    outdir: directory,
    target: 'node',
    naming: 'entry.mjs',
  })
  expect(built.success).toBe(true)
  node = Bun.spawn(['node', join(directory, 'entry.mjs')], { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' })
  const reader = node.stdout.getReader()
  const { value } = await reader.read()
  nodePort = Number(new TextDecoder().decode(value).trim())
  expect(nodePort).toBeGreaterThan(0)
}, 20_000)

afterAll(async () => {
  await served.stop()
  node.kill('SIGTERM')
  await node.exited
  await rm(directory, { recursive: true, force: true })
})

describe('the same bytes', () => {
  for (const { name, bytes, status, code, node: differs } of RAW_REQUESTS) {
    test(`${name}: Bun answers ${status} ${code}`, async () => {
      const answer = await sendRaw(served.port, bytes)
      expect([answer.status, answer.code]).toEqual([status, code])
      if (code !== '') expect(answer.headers['x-request-id']).toBeString()
    })

    test(`${name}: Node answers ${differs?.status ?? status} ${code}`, async () => {
      const answer = await sendRaw(nodePort, bytes)
      if (differs !== undefined) expect(answer.status).toBe(differs.status)
      // Where Bun answers by itself, without an envelope, the app's own on Node is as good.
      else if (status >= 400 && code === '') expect(answer.status).toBe(status)
      else expect([answer.status, answer.code]).toEqual([status, code])
    })
  }
})
