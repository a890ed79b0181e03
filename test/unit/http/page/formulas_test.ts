import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../../../src/config/config.ts'
import { FORMULAS } from '../../../../src/dashboard/formulas/formulas.ts'
import { createFormulas, findFormulas, listFigures, listPageFigures } from '../../../../src/http/page/formulas.ts'
import { describeServices } from '../../../../src/service/routes.ts'
import { BARE } from '../../../support/http/fixture.ts'
import { askPage } from '../../../support/page.ts'

const ROOT = join(import.meta.dir, '../../../..')
const openapi = describeServices(
  readConfig({}, () => {
    throw new Error('Expected no file')
  }),
)
const figures = [...listFigures(openapi), ...listPageFigures(FORMULAS)]

async function readPage(
  pages: ReturnType<typeof createFormulas>,
): Promise<{ body: string; policy: string | undefined }> {
  const { text, headers } = await askPage(pages.get('/formulas'))
  return { body: text, policy: headers['content-security-policy'] }
}

describe('formulas', () => {
  test('state for every figure its formula and its proof', () => {
    expect(figures.length).toBeGreaterThan(60)
    const silent = figures.filter((figure) => findFormulas(figure, FORMULAS).length === 0)
    expect(silent.map(({ family, name }) => `${family}/${name}`)).toEqual([])
  })

  test('are of figures that exist, of code that exists, and name tests that exist', () => {
    for (const { figures: names, code, proofs, text } of FORMULAS) {
      const known = names.filter((name) =>
        figures.some((each) => [each.name, `${each.family}/${each.name}`].includes(name)),
      )
      expect({ code, known }).toEqual({ code, known: [...names] })
      const [file = '', name = ''] = code.split(' ')
      expect(readFileSync(join(ROOT, file), 'utf8')).toMatch(new RegExp(`\\b${name}\\b`))
      expect(proofs.filter((proof) => !existsSync(join(ROOT, proof)))).toEqual([])
      expect(text.length).toBeGreaterThan(15)
      expect(text).not.toMatch(/[@*]$/)
    }
  })

  test('stand on one page that runs nothing and loads nothing', async () => {
    const { body, policy } = await readPage(
      createFormulas(FORMULAS, openapi, { revisions: new Map([['aave-v3', 7]]), look: BARE }),
    )
    expect(body).toContain('<h2 id="aave-v3">aave-v3</h2>\n<p>Revision 7: receipts name it.</p>')
    for (const { family, name } of figures) expect(body).toContain(`id="${family}.${name}"`)
    expect(body).toContain('which is 1 but on Kamino); <code>max</code> without debt.')
    expect(policy).toStartWith("default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri")
    expect(body).not.toMatch(/<script|https?:/)
  })

  test('are escaped', async () => {
    const formula = { figures: ['netAPY'], text: 'a < b & "c" `<d>`', source: '<e>', proofs: ['<f>'], code: '<g>' }
    const { body } = await readPage(createFormulas([formula], openapi, { revisions: new Map(), look: BARE }))
    expect(body).toContain('a &#60; b &#38; &#34;c&#34; <code>&#60;d&#62;</code>')
    expect(body).not.toMatch(/<[defg]>/)
  })
})
