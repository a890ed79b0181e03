import { DASHBOARD_FILES, DASHBOARD_MODULES, DASHBOARD_PAGES, OPERATOR_PAGES } from '../dashboard/files.ts'
import type { Pages } from '../http/plane/public.ts'
import { createStaticPages } from '../http/plane/static.ts'

/** Pages for people: those of whoever has a key or a session, and the operator's, each with the files that they load. */
export function createFaces(): { readonly callers: Pages; readonly operator: Pages } {
  const shared = { files: DASHBOARD_FILES, modules: DASHBOARD_MODULES }
  const callers = createStaticPages({ ...shared, pages: DASHBOARD_PAGES })
  const operator = createStaticPages({ ...shared, pages: OPERATOR_PAGES })
  return {
    callers: new Map([...callers.pages, ...callers.files]),
    operator: new Map([...operator.pages, ...operator.files]),
  }
}
