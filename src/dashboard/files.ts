import { collectFiles } from './collect.ts' with { type: 'macro' }

/** Everything that the pages load. Styles apply in this order. */
export const DASHBOARD_FILES = collectFiles()

/** The pages by path: what each is called, and the script that draws it. */
export const DASHBOARD_PAGES = {
  '/': { title: 'walletscope', script: 'explore/main.js' },
  '/usage': { title: 'Usage · walletscope', script: 'usage/main.js' },
}

/** Styles of pages of text. */
export const TEXT_STYLES = ['style/base.css', 'style/parts.css', 'style/text.css']

/** The operator's pages by path. */
export const OPERATOR_PAGES = {
  '/operator': { title: 'Operator · walletscope', script: 'operator/main.js' },
}
