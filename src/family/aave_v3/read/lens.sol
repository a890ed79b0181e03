// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {LensPage} from '../../../chain/call/page.sol';

interface IProvider {
    function getPool() external view returns (address);
    function getPriceOracle() external view returns (address);
    function getPriceOracleSentinel() external view returns (address);
}

interface ISentinel {
    function isBorrowAllowed() external view returns (bool);
    function isLiquidationAllowed() external view returns (bool);
}

interface IOracle {
    function BASE_CURRENCY() external view returns (address);
    function BASE_CURRENCY_UNIT() external view returns (uint256);
    function getAssetPrice(address) external view returns (uint256);
}

interface IPool {
    function getReservesList() external view;
    function getReserveData(address) external view;
    function getVirtualUnderlyingBalance(address) external view returns (uint128);
    function getUserConfiguration(address) external view returns (uint256);
    function getUserEMode(address) external view returns (uint256);
    function getUserAccountData(address) external view;
    function getEModeCategoryData(uint8) external view;
    function getEModeCategoryCollateralConfig(uint8) external view;
    function getEModeCategoryCollateralBitmap(uint8) external view returns (uint128);
    function getEModeCategoryLtvzeroBitmap(uint8) external view returns (uint128);
    function getIsEModeCategoryIsolated(uint8) external view returns (bool);
    function getEModeCategoryBorrowableBitmap(uint8) external view returns (uint128);
    function getLiquidationGracePeriod(address) external view returns (uint40);
}

interface IToken {
    function balanceOf(address) external view returns (uint256);
    function scaledBalanceOf(address) external view returns (uint256);
    function totalSupply() external view returns (uint256);
    function getPreviousIndex(address) external view returns (uint256);
    function getUserStableRate(address) external view returns (uint256);
    function symbol() external view;
    function name() external view;
}

/// Reads what wallets supply and owe in markets of Aave V3, versions 3.0 to 3.7, in one `eth_call`. It is never
/// deployed: its code stands at an address for the length of one call, or runs as the creation code of one.
///
/// The answer is a packed stream, big-endian, without padding; `abi.ts` decodes it.
///
///   header     u8 version = 1, u64 chain id, u64 block number, u64 block timestamp, bytes32 hash of the parent block,
///              u32 wallets taken, u8 number of markets, then for each: u8 1 if it answered and counts in US dollars,
///              u128 units of one dollar, u8 features: 1 eModes by bitmap (3.2), 2 eModes that zero LTVs (3.6),
///              4 isolated eModes in place of isolation mode (3.7), 8 the sentinel of a sequencer refuses loans,
///              16 it delays liquidations; u8 number of reserves that are active, neither paused nor frozen, then for
///              each: u16 id, u8 flags: 1 lends outside eModes, 2 in isolation mode, 4 siloed, u8 eMode category
///   1 reserve  u8 market, u16 id, address, u256 configuration, u128 liquidity rate, u128 variable borrow rate,
///              u128 debt in isolation mode, u8 1 if it has a price, u256 price, u128 what can be withdrawn, u128 what the
///              borrow cap of a siloed reserve leaves to lend, 2^128 − 1 of another, u40 end of the grace period before
///              liquidations, Unix seconds, text symbol
///   2 category u8 market, u8 id, u8 1 if it answered, u16 LTV, u16 liquidation threshold, u128 collateral bitmap,
///              u128 zero-LTV bitmap, u128 bitmap of what it lends, u8 1 if isolated, u256 price of all its assets, 0
///              where each has its own
///   3 account  u32 wallet, u8 market, u8 eMode category, u8 1 if `getUserAccountData` answered, then its six u256,
///              u8 number of holdings, then for each: u16 reserve id, u8 flags: 1 collateral, 2 supplied,
///              4 variable debt, 8 stable debt, then for each of the last three that is set u256 balance,
///              and for stable debt u128 rate
///   4 broken   u32 wallet, u8 market, u8 what failed: 1 configuration, 2 supplied balance, 3 debt, 4 eMode
///   5 tokens   u8 market, u16 reserve id, address supply token, address stable debt token, address variable debt
///              token, text name of the asset; after its reserve, only if names are asked for
///
/// Texts are as in `page.sol`. Reserves and categories are written when the first wallet holds them, before that
/// wallet's account; a wallet without anything in a market has no account there. Balances are those that the tokens
/// tell, so that they are rounded as this version of the contracts rounds.
///
/// A page ends early, and says so by `taken`, before gas could run out inside a call or the answer grow too long.
contract Lens is LensPage {
    uint256 private constant RESERVES_MAX = 128;
    uint256 private constant LIST_GAS = 1_000_000;
    uint256 private constant PRICE_GAS = 1_500_000;
    /// `getUserAccountData`: so much, and so much for each reserve that the wallet uses.
    uint256 private constant ACCOUNT_GAS = 300_000;
    uint256 private constant ACCOUNT_RESERVE_GAS = 300_000;
    /// What is left over to end the page.
    uint256 private constant END_GAS = 150_000;
    /// A reserve in memory: address, 1 if written, then the 15 words that `getReserveData` answers in every version.
    uint256 private constant RESERVE_WORDS = 17;
    uint256 private constant RESERVE_DATA_WORDS = 15;
    /// A holding in memory: place of the reserve, flags, supplied, variable debt, stable debt, stable rate.
    uint256 private constant HOLDING_WORDS = 6;

    struct Market {
        bool answered;
        address pool;
        address oracle;
        uint256 unit;
        uint256 features;
        uint256 count;
        /// Reserves by place in the list.
        uint256 reserves;
        /// Bit by category: 1 once it is written.
        uint256 written;
        /// True if the tokens of its reserves are asked for.
        bool named;
        /// Room for what one wallet holds; all markets use the same, one after the other.
        uint256 holdings;
    }

    /// What each wallet has in each market.
    function read(address[] calldata providers, address[] calldata wallets, uint256 bytesMax) external view {
        readAll(providers, wallets, bytesMax, false);
    }

    /// The same, and what names the tokens of each reserve that a wallet holds.
    function readNamed(address[] calldata providers, address[] calldata wallets, uint256 bytesMax) external view {
        readAll(providers, wallets, bytesMax, true);
    }

    function readAll(
        address[] calldata providers,
        address[] calldata wallets,
        uint256 bytesMax,
        bool named
    ) private view {
        Page memory page;
        page.question = reserve(64);
        page.answer = reserve(512);
        uint256 holdings = reserve(RESERVES_MAX * HOLDING_WORDS * 32);
        Market[] memory markets = new Market[](providers.length);
        for (uint256 i = 0; i < providers.length; i++) {
            markets[i].holdings = holdings;
            markets[i].named = named;
            openMarket(page, markets[i], providers[i]);
        }
        header(page, markets);
        for (uint256 w = 0; w < wallets.length; w++) {
            for (uint256 m = 0; m < markets.length; m++) {
                if (markets[m].answered) account(page, markets[m], m, w, wallets[w]);
            }
            if (page.cursor - page.start > bytesMax) finish(page);
            page.checkpoint = page.cursor;
            page.taken = w + 1;
        }
        finish(page);
    }

    function writeTokens(Page memory page, uint256 m, uint256 place) private view {
        put(page, 5, 1);
        put(page, m, 1);
        put(page, word(place + 288), 2);
        put(page, word(place + 320), 20);
        put(page, word(place + 352), 20);
        put(page, word(place + 384), 20);
        text(page, address(uint160(word(place))), IToken.name.selector);
    }

    /// Whether each wallet ever had a movement of a supply token in one market: a supply token keeps the index of the
    /// last one for ever, and a wallet cannot owe without having supplied. Before 3.0.1 a transfer stored no index for
    /// its receiver, who has a balance until its next movement. Header as above without markets, then u8 1 if
    /// the market answered, then for each wallet u8 1 if it had one, 2 if a token does not answer.
    function touched(address provider, address[] calldata wallets) external view {
        Page memory page;
        page.question = reserve(64);
        page.answer = reserve(512);
        Market memory market;
        if (ask(page, provider, IProvider.getPool.selector, 32)) {
            market.pool = address(uint160(word(page.answer)));
            market.answered = readReserves(page, market);
        }
        begin(page);
        put(page, market.answered ? 1 : 0, 1);
        for (uint256 w = 0; w < wallets.length; w++) {
            put(page, touchedBy(page, market, wallets[w]), 1);
        }
        page.checkpoint = page.cursor;
        page.taken = wallets.length;
        finish(page);
    }

    function touchedBy(Page memory page, Market memory market, address wallet) private view returns (uint256) {
        uint256 failed = 0;
        for (uint256 i = 0; i < market.count; i++) {
            address token = address(uint160(word(market.reserves + i * RESERVE_WORDS * 32 + 320)));
            if (!ask1(page, token, IToken.getPreviousIndex.selector, uint160(wallet), 32)) failed = 2;
            else if (word(page.answer) != 0) return 1;
            if (!ask1(page, token, IToken.scaledBalanceOf.selector, uint160(wallet), 32)) failed = 2;
            else if (word(page.answer) != 0) return 1;
        }
        return failed;
    }

    function openMarket(Page memory page, Market memory market, address provider) private view {
        if (!ask(page, provider, IProvider.getPool.selector, 32)) return;
        market.pool = address(uint160(word(page.answer)));
        if (!ask(page, provider, IProvider.getPriceOracle.selector, 32)) return;
        market.oracle = address(uint160(word(page.answer)));
        if (!ask(page, market.oracle, IOracle.BASE_CURRENCY.selector, 32) || word(page.answer) != 0) return;
        if (!ask(page, market.oracle, IOracle.BASE_CURRENCY_UNIT.selector, 32)) return;
        market.unit = word(page.answer);
        if (market.unit == 0 || market.unit > type(uint128).max) return;
        if (ask1(page, market.pool, IPool.getEModeCategoryCollateralBitmap.selector, 0, 32)) market.features |= 1;
        if (ask1(page, market.pool, IPool.getEModeCategoryLtvzeroBitmap.selector, 0, 32)) market.features |= 2;
        if (ask1(page, market.pool, IPool.getIsEModeCategoryIsolated.selector, 0, 32)) market.features |= 4;
        market.features |= refusedBySentinel(page, provider);
        market.answered = readReserves(page, market);
    }

    /// What the sentinel of a sequencer refuses now; nothing without one. One that does not answer refuses.
    function refusedBySentinel(Page memory page, address provider) private view returns (uint256 refused) {
        if (!ask(page, provider, IProvider.getPriceOracleSentinel.selector, 32)) return 0;
        address sentinel = address(uint160(word(page.answer)));
        if (sentinel == address(0)) return 0;
        if (!ask(page, sentinel, ISentinel.isBorrowAllowed.selector, 32) || word(page.answer) == 0) refused = 8;
        if (!ask(page, sentinel, ISentinel.isLiquidationAllowed.selector, 32) || word(page.answer) == 0) refused |= 16;
    }

    function readReserves(Page memory page, Market memory market) private view returns (bool) {
        uint256 answer = page.answer;
        uint256 sizeMax = 64 + RESERVES_MAX * 32;
        page.answer = reserve(sizeMax);
        (bool ok, uint256 size) = askFor(page, market.pool, IPool.getReservesList.selector, 4, LIST_GAS, sizeMax);
        uint256 list = page.answer + 64;
        uint256 count = word(list - 32);
        if (!ok || size < 64 || count > RESERVES_MAX || size < 64 + count * 32) return false;
        market.count = count;
        market.reserves = reserve(count * RESERVE_WORDS * 32);
        for (uint256 i = 0; i < count; i++) {
            uint256 asset = word(list + i * 32);
            uint256 place = market.reserves + i * RESERVE_WORDS * 32;
            set(place, asset);
            set(place + 32, 0);
            page.answer = place + 64;
            if (!ask1(page, market.pool, IPool.getReserveData.selector, asset, RESERVE_DATA_WORDS * 32)) return false;
        }
        page.answer = answer;
        return true;
    }

    /// Records of one wallet in one market: nothing if it has nothing there.
    function account(Page memory page, Market memory market, uint256 m, uint256 w, address wallet) private view {
        if (!ask1(page, market.pool, IPool.getUserConfiguration.selector, uint160(wallet), 32)) {
            return broken(page, w, m, 1);
        }
        uint256 bits = word(page.answer);
        (uint256 held, uint256 used, uint256 failed) = readHoldings(page, market, bits, wallet);
        if (failed != 0) return broken(page, w, m, failed);
        if (held == 0) return;
        if (!ask1(page, market.pool, IPool.getUserEMode.selector, uint160(wallet), 32)) return broken(page, w, m, 4);
        uint256 category = word(page.answer);
        if (category > 255) return broken(page, w, m, 4);
        if (category != 0 && (market.written >> category) & 1 == 0) writeCategory(page, market, m, category);
        for (uint256 i = 0; i < held; i++) {
            uint256 place = word(market.holdings + i * HOLDING_WORDS * 32);
            if (word(place + 32) == 0) writeReserve(page, market, m, place);
        }
        argument(page, 0, uint160(wallet));
        uint256 gasMax = ACCOUNT_GAS + used * ACCOUNT_RESERVE_GAS;
        (bool ok, uint256 size) = askFor(page, market.pool, IPool.getUserAccountData.selector, 36, gasMax, 192);
        ok = ok && size >= 192;
        put(page, 3, 1);
        put(page, w, 4);
        put(page, m, 1);
        put(page, category, 1);
        put(page, ok ? 1 : 0, 1);
        if (ok) for (uint256 i = 0; i < 6; i++) put(page, word(page.answer + i * 32), 32);
        put(page, held, 1);
        for (uint256 i = 0; i < held; i++) writeHolding(page, market.holdings + i * HOLDING_WORDS * 32);
    }

    /// Collects into `market.holdings` what the wallet supplies, owes or has switched on: 0 if it neither supplies nor owes.
    function readHoldings(
        Page memory page,
        Market memory market,
        uint256 bits,
        address wallet
    ) private view returns (uint256 held, uint256 used, uint256 failed) {
        bool any = false;
        for (uint256 i = 0; i < market.count; i++) {
            uint256 place = market.reserves + i * RESERVE_WORDS * 32;
            uint256 id = word(place + 288);
            uint256 pair = id < RESERVES_MAX ? (bits >> (2 * id)) & 3 : 0;
            address token = address(uint160(word(place + 320)));
            if (!ask1(page, token, IToken.scaledBalanceOf.selector, uint160(wallet), 32)) return (0, 0, 2);
            bool supplies = word(page.answer) != 0;
            if (!supplies && pair == 0) continue;
            uint256 holding = market.holdings + held * HOLDING_WORDS * 32;
            if (!readSupplied(page, holding, token, wallet, supplies)) return (0, 0, 2);
            if (!readDebt(page, holding, place, wallet, pair & 1 == 1)) return (0, 0, 3);
            uint256 flags = word(holding + 32);
            if (flags != 0) any = true;
            set(holding, place);
            set(holding + 32, flags | (pair >> 1));
            if (pair != 0) used++;
            held++;
        }
        if (!any) held = 0;
    }

    function readSupplied(
        Page memory page,
        uint256 holding,
        address token,
        address wallet,
        bool supplies
    ) private view returns (bool) {
        set(holding + 32, 0);
        if (!supplies) return true;
        if (!ask1(page, token, IToken.balanceOf.selector, uint160(wallet), 32)) return false;
        uint256 balance = word(page.answer);
        set(holding + 64, balance);
        if (balance != 0) set(holding + 32, 2);
        return true;
    }

    function readDebt(
        Page memory page,
        uint256 holding,
        uint256 place,
        address wallet,
        bool borrows
    ) private view returns (bool) {
        if (!borrows) return true;
        uint256 flags = word(holding + 32);
        address token = address(uint160(word(place + 384)));
        if (!ask1(page, token, IToken.balanceOf.selector, uint160(wallet), 32)) return false;
        set(holding + 96, word(page.answer));
        if (word(page.answer) != 0) flags |= 4;
        token = address(uint160(word(place + 352)));
        if (token != address(0)) {
            if (!ask1(page, token, IToken.balanceOf.selector, uint160(wallet), 32)) return false;
            uint256 balance = word(page.answer);
            set(holding + 128, balance);
            if (balance != 0) {
                flags |= 8;
                if (!ask1(page, token, IToken.getUserStableRate.selector, uint160(wallet), 32)) return false;
                set(holding + 160, word(page.answer));
            }
        }
        set(holding + 32, flags);
        return true;
    }

    function writeHolding(Page memory page, uint256 holding) private pure {
        uint256 flags = word(holding + 32);
        put(page, word(word(holding) + 288), 2);
        put(page, flags, 1);
        if (flags & 2 != 0) put(page, word(holding + 64), 32);
        if (flags & 4 != 0) put(page, word(holding + 96), 32);
        if (flags & 8 == 0) return;
        put(page, word(holding + 128), 32);
        put(page, word(holding + 160), 16);
    }

    function writeReserve(Page memory page, Market memory market, uint256 m, uint256 place) private view {
        set(place + 32, 1);
        address asset = address(uint160(word(place)));
        put(page, 1, 1);
        put(page, m, 1);
        put(page, word(place + 288), 2);
        put(page, uint160(asset), 20);
        put(page, word(place + 64), 32);
        put(page, word(place + 128), 16);
        put(page, word(place + 192), 16);
        put(page, word(place + 512), 16);
        (bool ok, uint256 price) = priceOf(page, market, asset);
        put(page, ok ? 1 : 0, 1);
        put(page, price, 32);
        put(page, withdrawable(page, market, asset, place), 16);
        put(page, underCap(page, place), 16);
        bool graced = ask1(page, market.pool, IPool.getLiquidationGracePeriod.selector, uint160(asset), 32);
        put(page, graced ? word(page.answer) : 0, 5);
        text(page, asset, IToken.symbol.selector);
        if (market.named) writeTokens(page, m, place);
    }

    /// What the pool can pay out of a reserve: its virtual balance since 3.1, before that all that it holds.
    function withdrawable(
        Page memory page,
        Market memory market,
        address asset,
        uint256 place
    ) private view returns (uint256 amount) {
        if (!ask1(page, market.pool, IPool.getVirtualUnderlyingBalance.selector, uint160(asset), 32)) {
            if (!ask1(page, asset, IToken.balanceOf.selector, word(place + 320), 32)) return 0;
        }
        amount = word(page.answer);
        if (amount > type(uint128).max) amount = type(uint128).max;
    }

    /// What the borrow cap of a siloed reserve leaves to lend: its debtors may borrow nothing else.
    function underCap(Page memory page, uint256 place) private view returns (uint256) {
        uint256 configuration = word(place + 64);
        uint256 cap = (configuration >> 80) & 0xfffffffff;
        uint256 decimals = (configuration >> 48) & 0xff;
        if ((configuration >> 62) & 1 == 0 || cap == 0 || decimals > 60) return type(uint128).max;
        cap *= 10 ** decimals;
        uint256 owed = readSupply(page, word(place + 384)) + readSupply(page, word(place + 352));
        if (owed >= cap) return 0;
        return cap - owed > type(uint128).max ? type(uint128).max : cap - owed;
    }

    /// Everything owed in a debt token; all that there may be if it does not answer.
    function readSupply(Page memory page, uint256 token) private view returns (uint256) {
        if (token == 0) return 0;
        if (!ask(page, address(uint160(token)), IToken.totalSupply.selector, 32)) return type(uint128).max;
        return word(page.answer) > type(uint128).max ? type(uint128).max : word(page.answer);
    }

    function priceOf(Page memory page, Market memory market, address asset) private view returns (bool ok, uint256 price) {
        argument(page, 0, uint160(asset));
        uint256 size;
        (ok, size) = askFor(page, market.oracle, IOracle.getAssetPrice.selector, 36, PRICE_GAS, 32);
        ok = ok && size >= 32;
        if (ok) price = word(page.answer);
    }

    function writeCategory(Page memory page, Market memory market, uint256 m, uint256 id) private view {
        market.written |= 1 << id;
        put(page, 2, 1);
        put(page, m, 1);
        put(page, id, 1);
        if (market.features & 1 == 0) return writeLegacyCategory(page, market, id);
        bool ok = ask1(page, market.pool, IPool.getEModeCategoryCollateralConfig.selector, id, 96);
        uint256 ltv = word(page.answer);
        uint256 threshold = word(page.answer + 32);
        ok = ok && ask1(page, market.pool, IPool.getEModeCategoryCollateralBitmap.selector, id, 32);
        put(page, ok ? 1 : 0, 1);
        put(page, ok ? ltv : 0, 2);
        put(page, ok ? threshold : 0, 2);
        put(page, ok ? word(page.answer) : 0, 16);
        ok = ask1(page, market.pool, IPool.getEModeCategoryLtvzeroBitmap.selector, id, 32);
        put(page, ok ? word(page.answer) : 0, 16);
        ok = ask1(page, market.pool, IPool.getEModeCategoryBorrowableBitmap.selector, id, 32);
        put(page, ok ? word(page.answer) : 0, 16);
        ok = ask1(page, market.pool, IPool.getIsEModeCategoryIsolated.selector, id, 32);
        put(page, ok ? word(page.answer) : 0, 1);
        put(page, 0, 32);
    }

    /// Before 3.2 an asset names its one category itself, and a category may have a price for all its assets.
    function writeLegacyCategory(Page memory page, Market memory market, uint256 id) private view {
        bool ok = ask1(page, market.pool, IPool.getEModeCategoryData.selector, id, 160);
        put(page, ok ? 1 : 0, 1);
        put(page, ok ? word(page.answer + 32) : 0, 2);
        put(page, ok ? word(page.answer + 64) : 0, 2);
        put(page, 0, 16);
        put(page, 0, 16);
        put(page, 0, 16);
        put(page, 0, 1);
        address source = ok ? address(uint160(word(page.answer + 128))) : address(0);
        uint256 price = 0;
        if (source != address(0)) (, price) = priceOf(page, market, source);
        put(page, price, 32);
    }

    function broken(Page memory page, uint256 w, uint256 m, uint256 what) private pure {
        put(page, 4, 1);
        put(page, w, 4);
        put(page, m, 1);
        put(page, what, 1);
    }

    function header(Page memory page, Market[] memory markets) private view {
        begin(page);
        put(page, markets.length, 1);
        for (uint256 i = 0; i < markets.length; i++) {
            put(page, markets[i].answered ? 1 : 0, 1);
            put(page, markets[i].unit, 16);
            put(page, markets[i].features, 1);
            writeLenders(page, markets[i]);
        }
        page.checkpoint = page.cursor;
    }

    /// Reserves that may lend, by their configuration.
    function writeLenders(Page memory page, Market memory market) private pure {
        uint256 reserves = market.answered ? market.count : 0;
        uint256 count = 0;
        for (uint256 i = 0; i < reserves; i++) if (mayLend(market, i)) count++;
        put(page, count, 1);
        for (uint256 i = 0; i < reserves; i++) {
            if (!mayLend(market, i)) continue;
            uint256 place = market.reserves + i * RESERVE_WORDS * 32;
            uint256 configuration = word(place + 64);
            put(page, word(place + 288), 2);
            put(page, ((configuration >> 58) & 1) | ((configuration >> 60) & 6), 1);
            put(page, (configuration >> 168) & 0xff, 1);
        }
    }

    /// Active, not frozen, not paused.
    function mayLend(Market memory market, uint256 i) private pure returns (bool) {
        return (word(market.reserves + i * RESERVE_WORDS * 32 + 64) >> 56) & 0x13 == 1;
    }

    /// Where there is less gas than the cap, what fails could have failed for want of gas: the page ends instead.
    function beforeCall(Page memory page, uint256 gasMax) internal view override {
        if (gasleft() < gasMax + gasMax / 32 + END_GAS) finish(page);
    }
}
