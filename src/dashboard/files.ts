import { collectFiles } from './collect.ts' with { type: 'macro' }
import type { DashboardFile } from './collect.ts'

/** Everything that the pages load. Styles apply in this order. */
export const DASHBOARD_FILES: readonly DashboardFile[] = collectFiles()

/** Modules that others import by name, and the file of each. */
export const DASHBOARD_MODULES: Readonly<Record<string, string>> = {
  htm: 'vendor/htm.js',
  preact: 'vendor/preact.js',
  'preact/hooks': 'vendor/preact_hooks.js',
}

/** A page: what it is called, and the module that draws it. */
interface DashboardPage {
  readonly title: string
  readonly script: string
}

/** The pages by path. */
export const DASHBOARD_PAGES: Readonly<Record<string, DashboardPage>> = {
  '/': { title: 'walletscope', script: 'explore/main.js' },
  '/usage': { title: 'Usage · walletscope', script: 'usage/main.js' },
}

/** The operator's pages by path. */
export const OPERATOR_PAGES: Readonly<Record<string, DashboardPage>> = {
  '/operator': { title: 'Operator · walletscope', script: 'operator/main.js' },
}
