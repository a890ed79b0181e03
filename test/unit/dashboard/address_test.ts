import { expect, test } from 'bun:test'
import { join } from 'node:path'

interface AddressModule {
  cleanEntry(text: string): string
  describeWalletError(text: string): string | undefined
}

// The pages' own files have no declarations.
const ADDRESS: string = join(import.meta.dir, '../../../src/dashboard/lib/address.ts')
const { cleanEntry, describeWalletError } = (await import(ADDRESS)) as AddressModule
const DIGITS = '1C88af7C1c88Af7c1C88Af7C1c88af7C1c88af7c'

test.each([
  [`\u200b0x${DIGITS}\u200e`, `0x${DIGITS}`],
  [`0X${DIGITS}`, `0x${DIGITS}`],
  [`ethereum:0x${DIGITS}`, `0x${DIGITS}`],
  [`ethereum:0x${DIGITS}@1`, `0x${DIGITS}`],
  ['na\u00adme.eth', 'name.eth'],
  ['So11111111111111111111111111111111111111112', 'So11111111111111111111111111111111111111112'],
])('cleanEntry(%j) is what was meant, which is a wallet', (text, wanted) => {
  expect(cleanEntry(text)).toBe(wanted)
  expect(describeWalletError(cleanEntry(text))).toBeUndefined()
})

test('a typo in an address is told from its checksum; without capital letters it has none', () => {
  const wrong = DIGITS.replace('A', 'a')
  expect(wrong).not.toBe(DIGITS)
  expect(describeWalletError(`0x${wrong}`)).toContain('checksum')
  expect(describeWalletError(`0x${DIGITS.toLowerCase()}`)).toBeUndefined()
})
