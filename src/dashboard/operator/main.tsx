import { drawPage } from '../lib/view.ts'
import { OperatorPage } from './page.tsx'

drawPage(<OperatorPage />)
