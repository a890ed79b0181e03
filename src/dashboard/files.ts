import htm from '../../node_modules/htm/dist/htm.mjs' with { type: 'text' }
import preact from '../../node_modules/preact/dist/preact.mjs' with { type: 'text' }
import preactHooks from '../../node_modules/preact/hooks/dist/hooks.mjs' with { type: 'text' }
import exploreAsking from './explore/asking.js' with { type: 'text' }
import exploreForm from './explore/form.js' with { type: 'text' }
import exploreLendingAave from './explore/lending/aave.js' with { type: 'text' }
import exploreLendingGauge from './explore/lending/gauge.js' with { type: 'text' }
import exploreLendingHistory from './explore/lending/history.js' with { type: 'text' }
import exploreLendingOther from './explore/lending/other.js' with { type: 'text' }
import exploreLiquidityPart from './explore/liquidity/part.js' with { type: 'text' }
import exploreLiquidityPnl from './explore/liquidity/pnl.js' with { type: 'text' }
import exploreLiquidityRange from './explore/liquidity/range.js' with { type: 'text' }
import exploreMain from './explore/main.js' with { type: 'text' }
import explorePage from './explore/page.js' with { type: 'text' }
import explorePlan from './explore/plan.js' with { type: 'text' }
import exploreResult from './explore/result.js' with { type: 'text' }
import exploreScale from './explore/scale.js' with { type: 'text' }
import exploreSummary from './explore/summary.js' with { type: 'text' }
import icon from './icon.svg' with { type: 'text' }
import libAccount from './lib/account.js' with { type: 'text' }
import libAddress from './lib/address.js' with { type: 'text' }
import libApi from './lib/api.js' with { type: 'text' }
import libCatalog from './lib/catalog.js' with { type: 'text' }
import libDecimal from './lib/decimal.js' with { type: 'text' }
import libHooks from './lib/hooks.js' with { type: 'text' }
import libLink from './lib/link.js' with { type: 'text' }
import libPace from './lib/pace.js' with { type: 'text' }
import libSession from './lib/session.js' with { type: 'text' }
import libTime from './lib/time.js' with { type: 'text' }
import libView from './lib/view.js' with { type: 'text' }
import operatorAudit from './operator/audit.js' with { type: 'text' }
import operatorBase from './operator/base.js' with { type: 'text' }
import operatorChains from './operator/chains.js' with { type: 'text' }
import operatorGrants from './operator/grants.js' with { type: 'text' }
import operatorHistories from './operator/histories.js' with { type: 'text' }
import operatorMain from './operator/main.js' with { type: 'text' }
import operatorOrganization from './operator/organization.js' with { type: 'text' }
import operatorOrganizations from './operator/organizations.js' with { type: 'text' }
import operatorPage from './operator/page.js' with { type: 'text' }
import operatorSwitches from './operator/switches.js' with { type: 'text' }
import partBars from './part/bars.js' with { type: 'text' }
import partChart from './part/chart.js' with { type: 'text' }
import partChartScale from './part/chart_scale.js' with { type: 'text' }
import partConfirm from './part/confirm.js' with { type: 'text' }
import partCopy from './part/copy.js' with { type: 'text' }
import partFigure from './part/figure.js' with { type: 'text' }
import partKeys from './part/keys.js' with { type: 'text' }
import partNotice from './part/notice.js' with { type: 'text' }
import partPager from './part/pager.js' with { type: 'text' }
import partProof from './part/proof.js' with { type: 'text' }
import partShell from './part/shell.js' with { type: 'text' }
import partSignedOut from './part/signed_out.js' with { type: 'text' }
import partUsageChart from './part/usage_chart.js' with { type: 'text' }
import styleAccount from './style/account.css' with { type: 'text' }
import styleBase from './style/base.css' with { type: 'text' }
import styleExplore from './style/explore.css' with { type: 'text' }
import styleParts from './style/parts.css' with { type: 'text' }
import usageLatency from './usage/latency.js' with { type: 'text' }
import usageLog from './usage/log.js' with { type: 'text' }
import usageMain from './usage/main.js' with { type: 'text' }
import usagePage from './usage/page.js' with { type: 'text' }

/** A file of the pages, by its path below their folder. */
interface DashboardFile {
  readonly path: string
  readonly text: string
}

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

/** Everything that the pages load. Styles apply in this order. */
export const DASHBOARD_FILES: readonly DashboardFile[] = [
  { path: 'style/base.css', text: styleBase },
  { path: 'style/parts.css', text: styleParts },
  { path: 'style/explore.css', text: styleExplore },
  { path: 'style/account.css', text: styleAccount },
  { path: 'icon.svg', text: icon },
  { path: 'vendor/htm.js', text: htm },
  { path: 'vendor/preact.js', text: preact },
  { path: 'vendor/preact_hooks.js', text: preactHooks },
  { path: 'explore/asking.js', text: exploreAsking },
  { path: 'explore/form.js', text: exploreForm },
  { path: 'explore/lending/aave.js', text: exploreLendingAave },
  { path: 'explore/lending/gauge.js', text: exploreLendingGauge },
  { path: 'explore/lending/history.js', text: exploreLendingHistory },
  { path: 'explore/lending/other.js', text: exploreLendingOther },
  { path: 'explore/liquidity/part.js', text: exploreLiquidityPart },
  { path: 'explore/liquidity/pnl.js', text: exploreLiquidityPnl },
  { path: 'explore/liquidity/range.js', text: exploreLiquidityRange },
  { path: 'explore/main.js', text: exploreMain },
  { path: 'explore/page.js', text: explorePage },
  { path: 'explore/plan.js', text: explorePlan },
  { path: 'explore/result.js', text: exploreResult },
  { path: 'explore/scale.js', text: exploreScale },
  { path: 'explore/summary.js', text: exploreSummary },
  { path: 'lib/account.js', text: libAccount },
  { path: 'lib/address.js', text: libAddress },
  { path: 'lib/api.js', text: libApi },
  { path: 'lib/catalog.js', text: libCatalog },
  { path: 'lib/decimal.js', text: libDecimal },
  { path: 'lib/hooks.js', text: libHooks },
  { path: 'lib/link.js', text: libLink },
  { path: 'lib/pace.js', text: libPace },
  { path: 'lib/session.js', text: libSession },
  { path: 'lib/time.js', text: libTime },
  { path: 'lib/view.js', text: libView },
  { path: 'operator/audit.js', text: operatorAudit },
  { path: 'operator/base.js', text: operatorBase },
  { path: 'operator/chains.js', text: operatorChains },
  { path: 'operator/grants.js', text: operatorGrants },
  { path: 'operator/histories.js', text: operatorHistories },
  { path: 'operator/main.js', text: operatorMain },
  { path: 'operator/organization.js', text: operatorOrganization },
  { path: 'operator/organizations.js', text: operatorOrganizations },
  { path: 'operator/page.js', text: operatorPage },
  { path: 'operator/switches.js', text: operatorSwitches },
  { path: 'part/bars.js', text: partBars },
  { path: 'part/chart.js', text: partChart },
  { path: 'part/chart_scale.js', text: partChartScale },
  { path: 'part/confirm.js', text: partConfirm },
  { path: 'part/copy.js', text: partCopy },
  { path: 'part/figure.js', text: partFigure },
  { path: 'part/keys.js', text: partKeys },
  { path: 'part/notice.js', text: partNotice },
  { path: 'part/pager.js', text: partPager },
  { path: 'part/proof.js', text: partProof },
  { path: 'part/shell.js', text: partShell },
  { path: 'part/signed_out.js', text: partSignedOut },
  { path: 'part/usage_chart.js', text: partUsageChart },
  { path: 'usage/latency.js', text: usageLatency },
  { path: 'usage/log.js', text: usageLog },
  { path: 'usage/main.js', text: usageMain },
  { path: 'usage/page.js', text: usagePage },
]
