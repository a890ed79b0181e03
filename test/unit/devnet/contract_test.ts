import { expect, test } from 'bun:test'
import { ARTIFACT_PATH, artifactText, compileContracts } from '../../devnet/contract/compile.ts'

test('compileContracts() gives the committed artifact, byte for byte', async () => {
  expect(artifactText(compileContracts())).toBe(await Bun.file(ARTIFACT_PATH).text())
}, 600_000)
