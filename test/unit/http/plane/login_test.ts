import { expect, test } from 'bun:test'
import { createLoginPlane, type LoginLinks } from '../../../../src/http/plane/login.ts'
import { createFixedClock, createTestClock, settle } from '../../../support/test_clock.ts'

const NO_LINKS: LoginLinks = { find: async () => undefined, open: async () => undefined }
const OPERATOR_LINK = { account: 'the operator', elsewhere: undefined } as const

test.each([
  ['POST', 'POST /login'],
  ['OPTIONS', 'OPTIONS /login'],
  ['PUT', 'unknown'],
  // Parts of method names are no methods. The servers refuse them before the plane is reached.
  ['OST', 'unknown'],
  ['EAD', 'unknown'],
])('metrics name the login page, asked by %p, as %p', (method, route) => {
  const plane = createLoginPlane({ links: NO_LINKS, publicUrl: undefined, clock: createFixedClock() })
  const request = new Request('http://test.local/login')
  const asked = { request, requestId: 'r', method, path: '/login', query: '', base: '', fault: undefined }
  expect(plane.find(asked).route).toBe(route)
})

test('any number of strangers whose forms come slowly keep no one from signing in', async () => {
  const opened = { secrets: { cookie: 'c', page: 'p' }, cookie: { name: 'n', path: '/' }, lifetimeSec: 1, page: './' }
  const plane = createLoginPlane({
    links: { find: async () => OPERATOR_LINK, open: async () => opened },
    publicUrl: undefined,
    clock: createTestClock(),
  })
  const post = (body: ReadableStream | string) => {
    const headers = { host: 'h', origin: 'http://h', 'content-type': 'application/x-www-form-urlencoded' }
    const request = new Request('http://h/login', { method: 'POST', body, headers, duplex: 'half' })
    const asked = { request, requestId: 'r', method: 'POST', path: '/login', query: '', base: '', fault: undefined }
    return plane.find(asked).answer()
  }
  for (let count = 0; count < 1_000; count++) void post(new ReadableStream())
  await settle()
  expect((await post('link=ws_login_a')).status).toBe(200)
  await expect(post(`link=${'a'.repeat(2_000)}`)).rejects.toThrow('expected at most 1024 bytes')
})

/** Asks the page of a link, and posts its form. */
async function useLink(links: LoginLinks) {
  const plane = createLoginPlane({ links, publicUrl: undefined, clock: createFixedClock() })
  const headers = { host: 'h', origin: 'http://h', 'content-type': 'application/x-www-form-urlencoded' }
  const body = 'link=ws_login_a'
  const answers = await Promise.all(
    [new Request('http://h/login'), new Request('http://h/login', { method: 'POST', body, headers })].map((request) => {
      const { method } = request
      const asked = { request, requestId: 'r', path: '/login', query: 'ws_login_a', base: '', fault: undefined }
      return plane.find({ ...asked, method }).answer()
    }),
  )
  return answers.map(({ status, body: text }) => ({ status, text: String(text) }))
}

test('the page of a link names the account that it signs in to', async () => {
  const find = (account: 'the operator' | { readonly organization: string }) => ({
    ...NO_LINKS,
    find: async () => ({ account, elsewhere: undefined }),
  })
  expect((await useLink(find('the operator')))[0]?.text).toContain('signs you in as the operator.')
  const [page] = await useLink(find({ organization: '<b>Acme & co' }))
  expect(page).toMatchObject({ status: 200 })
  expect(page?.text).toContain('the organization <bdi>&#60;b&#62;Acme &#38; co</bdi>')
})

test('a link that is used up or invented has no form', async () => {
  let tried = 0
  const answers = await useLink({
    ...NO_LINKS,
    async open() {
      tried += 1
      return undefined
    },
  })
  for (const answer of answers)
    expect(answer).toMatchObject({ status: 401, text: expect.not.stringContaining('<form') })
  // No statement of its own for an invented link.
  expect(tried).toBe(0)
})

test('a link of another port is refused by the page and by its form, and not used up', async () => {
  let opened = 0
  const answers = await useLink({
    find: async () => ({ account: { organization: 'Acme' }, elsewhere: 'https://api.example.org' }),
    async open() {
      opened += 1
      return undefined
    },
  })
  for (const { status, text } of answers) {
    expect({ status, hasForm: text.includes('<form') }).toEqual({ status: 403, hasForm: false })
    expect(text).toContain('https://api.example.org')
  }
  expect(opened).toBe(0)
})
