// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

interface ITradedToken {
    function transfer(address to, uint256 value) external returns (bool);
}

interface ITradedPool {
    function token0() external view returns (address);
    function token1() external view returns (address);
    function mint(address, int24, int24, uint128, bytes calldata) external returns (uint256, uint256);
    function burn(int24, int24, uint128) external returns (uint256, uint256);
    function collect(address, int24, int24, uint128, uint128) external returns (uint128, uint128);
    function swap(address, bool, int256, uint160, bytes calldata) external returns (int256, int256);
}

/// Trades with pools of Uniswap V3 directly, and pays with its own tokens whatever contract asks it to.
contract PoolTrader {
    function mint(ITradedPool pool, int24 lower, int24 upper, uint128 liquidity) external {
        pool.mint(address(this), lower, upper, liquidity, '');
    }

    /// Takes liquidity out, and what it earned.
    function burn(ITradedPool pool, int24 lower, int24 upper, uint128 liquidity) external {
        pool.burn(lower, upper, liquidity);
        pool.collect(address(this), lower, upper, type(uint128).max, type(uint128).max);
    }

    function swap(ITradedPool pool, bool zeroForOne, int256 amount, uint160 limit) external {
        pool.swap(address(this), zeroForOne, amount, limit, '');
    }

    function uniswapV3MintCallback(uint256 amount0, uint256 amount1, bytes calldata) external {
        pay(int256(amount0), int256(amount1));
    }

    function uniswapV3SwapCallback(int256 amount0, int256 amount1, bytes calldata) external {
        pay(amount0, amount1);
    }

    function pay(int256 amount0, int256 amount1) private {
        ITradedPool pool = ITradedPool(msg.sender);
        if (amount0 > 0) ITradedToken(pool.token0()).transfer(msg.sender, uint256(amount0));
        if (amount1 > 0) ITradedToken(pool.token1()).transfer(msg.sender, uint256(amount1));
    }
}

/// A token that keeps a part of each transfer, hundredths of a percent.
contract TaxedToken {
    mapping(address => uint256) public balanceOf;
    uint8 public constant decimals = 18;
    uint256 private immutable taxBps;

    constructor(uint256 taxBps_) {
        taxBps = taxBps_;
    }

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value - (value * taxBps) / 10_000;
        return true;
    }
}
