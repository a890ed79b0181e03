import { describe, expect, test } from 'bun:test'
import { gunzipSync } from 'node:zlib'
import { createStaticPages } from '../../../../src/http/page/static.ts'
import { askPage } from '../../../support/page.ts'

const FILES = [
  { path: 'style/base.css', text: 'a{}' },
  { path: 'front/main.js', text: 'document.title' },
  { path: 'back/main.js', text: 'document.body' },
  { path: 'icon.svg', text: '<svg/>' },
]
const OPTIONS = {
  pages: { '/': { title: 'Front', script: 'front/main.js' } },
  files: FILES,
}

describe('a page made of files', () => {
  test('names its styles and its own script by addresses that hold behind any path', async () => {
    const { pages, files } = createStaticPages(OPTIONS)
    const text = (await askPage(pages.get('/'))).text
    const addresses = [...text.matchAll(/(?:href|src)="([^"]+)"/g)]
      .map(([, address]) => `/${address}`)
      .filter((address) => address !== '/docs')
    expect(addresses.every((each) => files.has(each))).toBe(true)
    const named = addresses.map((each) => each.split('/').slice(3).join('/'))
    expect(named).toEqual(['icon.svg', 'style/base.css', 'front/main.js'])
    expect(text).toContain('<title>Front</title>')
  })

  test('has words in place of a script that does not come, as of another release behind the same address', async () => {
    const { text } = await askPage(createStaticPages(OPTIONS).pages.get('/'))
    expect(text).toMatch(/<div id="app">[^<]*reload/)
  })

  test('may run its own files, and nothing else', async () => {
    const { pages } = createStaticPages(OPTIONS)
    const { headers } = await askPage(pages.get('/'))
    const policy = headers['content-security-policy'] ?? ''
    expect(policy).toStartWith("default-src 'none'; ")
    expect(policy).toContain("; script-src 'self'; ")
    expect(policy).not.toContain('unsafe')
    expect(policy).not.toContain('*')
  })

  test('is revalidated at every visit, and its files are cached forever', async () => {
    const { pages, files } = createStaticPages(OPTIONS)
    expect((await askPage(pages.get('/'))).headers['cache-control']).toBe('no-cache')
    for (const file of files.values()) {
      expect((await askPage(file)).headers['cache-control']).toBe('public, max-age=31536000, immutable')
    }
  })

  test('changes the addresses of its files once one of them changes', () => {
    const changed = FILES.map((file) => (file.path === 'icon.svg' ? { ...file, text: '<svg></svg>' } : file))
    const [before, after] = [OPTIONS, { ...OPTIONS, files: changed }].map((each) => [
      ...createStaticPages(each).files.keys(),
    ])
    expect(before?.some((path) => after?.includes(path))).toBe(false)
  })
})

test('a text is sent compressed to clients that accept gzip, and not sent to clients that have it', async () => {
  const page = createStaticPages(OPTIONS).pages.get('/')
  const plain = await askPage(page)
  const packed = await askPage(page, { 'accept-encoding': 'br, gzip' })
  expect(gunzipSync(packed.bytes).toString()).toBe(plain.text)
  expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' })
  const known = await askPage(page, { 'if-none-match': plain.headers['etag'] ?? '' })
  expect({ status: known.status, body: known.body }).toEqual({ status: 304, body: null })
  expect((await askPage(page, { 'if-none-match': '"other"' })).status).toBe(200)
})

test('all readers of a page share the same bytes, whatever encodings they accept, and HEAD makes no others', async () => {
  const page = createStaticPages(OPTIONS).files.get(`${[...createStaticPages(OPTIONS).files.keys()][0]}`)
  for (const accepted of ['', 'gzip', 'zstd', 'zstd, gzip']) {
    const readers = Array.from({ length: 100 }, () => askPage(page, { 'accept-encoding': accepted }))
    const shared = new Set((await Promise.all(readers)).map((answer) => answer.shared))
    expect([accepted, shared.size, [...shared][0]?.blob instanceof Blob]).toEqual([accepted, 1, true])
  }
})

test('a file of an unknown type is refused before anything is served', () => {
  expect(() => createStaticPages({ ...OPTIONS, files: [{ path: 'a.exe', text: '' }] })).toThrow('its type is not known')
})

test('large files asked for at once are handed over one per turn of the event loop', async () => {
  const large = { path: 'large.js', text: 'x'.repeat(100_000) }
  const { files } = createStaticPages({ ...OPTIONS, files: [large] })
  const [file] = files.values()
  await askPage(file)
  let turns = 0
  let isOver = false
  const count = () => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const seen: number[] = []
  await Promise.all(Array.from({ length: 20 }, () => askPage(file).then(() => seen.push(turns))))
  isOver = true
  expect(new Set(seen).size).toBe(20)
})
