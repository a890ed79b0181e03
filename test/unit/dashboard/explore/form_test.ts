import { expect, test } from 'bun:test'
import { join } from 'node:path'

interface Form {
  findFormError(entries: readonly string[], isMomentCut: boolean, moment?: object): string | undefined
}
interface Names {
  resolveWallets(
    texts: readonly string[],
    options: { readonly key: string; readonly signal: AbortSignal },
  ): Promise<readonly object[] | undefined>
}

const EXPLORE = join(import.meta.dir, '../../../../src/dashboard/explore')
const { findFormError } = (await import(join(EXPLORE, 'form.tsx'))) as Form
const { resolveWallets } = (await import(join(EXPLORE, 'requests/name.ts'))) as Names

const WALLET = '0xf9Af3629b1e07972A90b7F86B7c23B0795A87952'

test('a date of which a part is missing is not taken for now', () => {
  expect(findFormError([WALLET], false)).toBeUndefined()
  expect(findFormError([WALLET], true)).toContain('time of day is missing')
  expect(findFormError([], false)).toContain('Paste')
  expect(findFormError(['0x12'], false)).toContain('this has 2')
  expect(findFormError(Array(6).fill('name.eth'), false)).toContain('These are 6')
})

test('a moment that is still to come by the clock of the service is said before asking', () => {
  const nowSec = Date.UTC(2026, 4, 7, 10) / 1_000
  expect(findFormError([WALLET], false, { moment: '2026-05-07T10:01Z', nowSec })).toContain('still to come')
  expect(findFormError([WALLET], false, { moment: '2026-05-07T09:59Z', nowSec })).toBeUndefined()
})

test('a name that answers after its form is gone takes no view', async () => {
  const controller = new AbortController()
  const options = { key: 'k', signal: controller.signal }
  expect(await resolveWallets([WALLET], options)).toEqual([{ wallet: WALLET }])
  const late = resolveWallets([WALLET], options)
  controller.abort()
  expect(await late).toBeUndefined()
  expect(await resolveWallets(['slow.eth'], options)).toBeUndefined()
})
