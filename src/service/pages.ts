import { REFERENCE_VERSION, SETUP_SCRIPT } from '../dashboard/docs/setup.ts'
import { DASHBOARD_FILES, DASHBOARD_PAGES, OPERATOR_PAGES, TEXT_STYLES } from '../dashboard/files.ts'
import { FORMULAS } from '../dashboard/formulas/formulas.ts'
import { GUIDES } from '../dashboard/guide/guides.ts'
import { FAMILIES } from '../family/mod.ts'
import { createReference } from '../http/page/docs.ts'
import { createFormulas } from '../http/page/formulas.ts'
import { createGuides } from '../http/page/guides.ts'
import { createOverview } from '../http/page/overview.ts'
import type { Pages } from '../http/page/page.ts'
import { createStaticPages } from '../http/page/static.ts'
import type { Clock } from '../lib/clock.ts'

/**
 * Web pages for callers and for the operator, with their assets. `openapi` is the source of the API reference and the
 * formulas.
 */
export function createServicePages(
  openapi: string,
  clock: Clock,
): { readonly callers: Pages; readonly operator: Pages } {
  const revisions = new Map(FAMILIES.map(({ name, revision }) => [name, revision]))
  const files = DASHBOARD_FILES
  const callers = createStaticPages({ files, pages: DASHBOARD_PAGES })
  const operator = createStaticPages({ files, pages: OPERATOR_PAGES })
  const assets = {
    styles: TEXT_STYLES.map((path) => `${callers.folder}/${path}`),
    icon: `${callers.folder}/icon.svg`,
  }
  const reference = createReference({
    script: async () => (await import('../dashboard/docs/reference.ts')).REFERENCE_SCRIPT,
    version: REFERENCE_VERSION,
    setup: SETUP_SCRIPT,
  })
  return {
    callers: new Map([
      ...callers.pages,
      ...callers.files,
      ...reference,
      ...createOverview(openapi, { guides: GUIDES, assets, clock }),
      ...createGuides(GUIDES, assets),
      ...createFormulas(FORMULAS, openapi, { revisions, look: assets }),
    ]),
    operator: new Map([...operator.pages, ...operator.files]),
  }
}
