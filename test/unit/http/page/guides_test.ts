import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readConfig } from '../../../../src/config/config.ts'
import { GUIDES } from '../../../../src/dashboard/guide/guides.ts'
import { createServicePages } from '../../../../src/service/mod.ts'
import { describeServices } from '../../../../src/service/routes.ts'
import { askPage } from '../../../support/page.ts'
import { createFixedClock } from '../../../support/test_clock.ts'

const ROOT = join(import.meta.dir, '../../../..')
const FOLDER = 'src/dashboard/guide'
/** Without the rows of its table of routes, which has a row for each. */
const README_WORDS_MAX = 2_480
const ROUTE_ROW = /^\| `[A-Z]+ \/v1\/.*$/gm

const openapi = describeServices(
  readConfig({}, () => {
    throw new Error('Expected no file')
  }),
)
const pages = createServicePages(() => openapi, createFixedClock()).callers

async function readBody(path: string): Promise<string> {
  return (await askPage(pages.get(path))).text
}

function findIds(html: string): ReadonlySet<string> {
  return new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id ?? ''))
}

describe('guides', () => {
  test('are served below the reference, run nothing and load nothing', async () => {
    expect(GUIDES.length).toBeGreaterThan(5)
    for (const { name, title } of GUIDES) {
      const body = await readBody(`/docs/${name}`)
      expect(body).toContain(`<title>walletscope: ${title}</title>`)
      expect(body).toContain(`<a aria-current="page" href="${name}">${title}</a>`)
      expect(body).not.toContain('<script')
      expect(await readBody('/docs')).toContain(`<a href="docs/${name}"`)
    }
  })

  test('lead to pages and headings that exist, as pages', async () => {
    for (const { name } of GUIDES) {
      const body = await readBody(`/docs/${name}`)
      for (const [, address = ''] of body.matchAll(/href="([^"]+)"/g)) {
        if (/^(https:|data:)/.test(address)) continue
        const { pathname, hash } = new URL(address, `http://h/docs/${name}`)
        expect({ name, address, known: pages.has(pathname) }).toEqual({ name, address, known: true })
        if (hash !== '') expect([...findIds(await readBody(pathname))]).toContain(hash.slice(1))
      }
    }
  })

  test('and the README lead to files and headings that exist, as files', () => {
    const ids = new Map(GUIDES.map(({ name, content }) => [`${FOLDER}/${name}.md`, findIds(content)]))
    for (const file of ['README.md', ...ids.keys()]) {
      for (const [, address = ''] of readFileSync(join(ROOT, file), 'utf8').matchAll(
        /(?:\]\(|src(?:set)?=")([^)"]+)/g,
      )) {
        if (address.startsWith('https:')) continue
        const [path = '', heading] = address.split('#')
        const target = path === '' ? file : join(dirname(file), path)
        expect({ file, address, exists: existsSync(join(ROOT, target)) }).toEqual({ file, address, exists: true })
        // A folder has no headings: its page has.
        if (heading !== undefined && target.endsWith('.md')) expect([...(ids.get(target) ?? [])]).toContain(heading)
      }
    }
  })

  test('leave a README for newcomers', () => {
    const prose = readFileSync(join(ROOT, 'README.md'), 'utf8').replace(ROUTE_ROW, '')
    expect(prose.split(/\s+/).length).toBeLessThan(README_WORDS_MAX)
  })
})
