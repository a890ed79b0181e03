import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../../../src/service/config/config.ts'
import { describePlanes } from '../../../../src/service/planes.ts'
import { describeServices } from '../../../../src/service/routes.ts'

const ROOT = join(import.meta.dir, '../../../..')
const LINTER = join(ROOT, 'node_modules/@redocly/cli/bin/cli.js')
const directory = mkdtempSync(join(tmpdir(), 'walletscope-lint-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** What the linter finds in a document, by the names of its rules. Needs no network. */
function findings(text: string): string[] {
  const path = join(directory, 'openapi.json')
  writeFileSync(path, text)
  const { stdout } = Bun.spawnSync([process.execPath, LINTER, 'lint', path, '--format=json', '--extends=recommended'], {
    cwd: directory,
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  })
  const { problems } = JSON.parse(stdout.toString())
  return problems.map(({ ruleId, message }: { ruleId: string; message: string }) => `${ruleId}: ${message}`)
}

test('the document of everything has no finding, whatever is configured', () => {
  const noFile = () => {
    throw new Error('Expected no file')
  }
  for (const env of [{}, { CHAINS: '101' }, { CHAINS: '1', OPERATOR_PORT: '0', PUBLIC_URL: 'https://api.example' }]) {
    expect(findings(describeServices(readConfig(env, noFile)))).toEqual([])
  }
}, 30_000)

test('the documents of the planes have no finding', () => {
  const { operator, organization } = describePlanes(readConfig({}, () => ''))
  expect(findings(operator)).toEqual([])
  expect(findings(organization)).toEqual([])
}, 30_000)

test('the linter finds something in a wrong document', () => {
  expect(findings('{"openapi":"3.1.0","info":{"title":"x","version":"1"},"paths":{"/a":{"get":{}}}}')).not.toEqual([])
}, 30_000)
